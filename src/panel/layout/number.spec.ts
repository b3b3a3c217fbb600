import { describe, expect, it } from '@jest/globals';
import { numberOf } from './number.js';

describe('an entered number', () => {
  it.each([
    ['en', '0', 0],
    ['en', '-5', -5],
    ['en', ' 10 000 ', 10_000],
    ['en', '10\u202f000', 10_000],
    ['en', '10,000', 10_000],
    ['en', '2.5', 2.5],
    ['es', '10.000', 10_000],
    ['es', '2,5', 2.5],
    ['es', '1.5', 1.5],
  ])('in %s %j is %d', (locale, text, value) => {
    expect(numberOf(text, locale)).toBe(value);
  });

  it.each(['1e3', '0x10', '5-', '1.2.3', '10,00', 'five', '∞'])('%j is not a number', (text) => {
    expect(numberOf(text, 'en')).toBeNaN();
  });

  it('is undefined while the field is empty', () => {
    expect(numberOf(' ', 'en')).toBeUndefined();
  });
});
