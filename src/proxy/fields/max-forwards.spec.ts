/** `Max-Forwards` is read, limited and decremented. */
import { describe, expect, it } from '@jest/globals';
import type { ClientMessage } from '../../http/client/client-response.js';
import { forwardsLeft, decrementMaxForwards } from './max-forwards.js';

const leftFor = (method: string, told?: string): number | undefined =>
  forwardsLeft({ method, headers: told === undefined ? {} : { 'max-forwards': told } } as ClientMessage);

describe('Max-Forwards', () => {
  it('is read for OPTIONS and ignored for GET', () => {
    expect(leftFor('OPTIONS', '3')).toBe(3);
    expect(leftFor('OPTIONS', '007')).toBe(7);
    expect(leftFor('OPTIONS')).toBeUndefined();
    expect(leftFor('GET', '0')).toBeUndefined();
  });

  it.each(['', '-1', '1.5', 'a', '1, 2', '0x1'])('is NaN for %j', (told) => {
    expect(leftFor('OPTIONS', told)).toBeNaN();
  });
});

describe('the forwarded Max-Forwards', () => {
  it.each([
    ['Max-Forwards: 3\r\n', 3, 2],
    ['max-forwards:1\r\nMAX-FORWARDS: 9\r\n', 1, 0],
    [`Max-Forwards: ${'9'.repeat(40)}\r\n`, Number('9'.repeat(40)), 1_000_000],
  ])('of %j is one less, in a single line', (line, left, next) => {
    expect(decrementMaxForwards(`A: b\r\n${line}C: d\r\n`, left)).toBe(`A: b\r\nC: d\r\nMax-Forwards: ${next}\r\n`);
  });
});
