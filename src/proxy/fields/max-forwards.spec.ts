/** `Max-Forwards` is read, limited and decremented. */
import { describe, expect, it } from '@jest/globals';
import type { ClientMessage } from '../../http/client/client-response.js';
import { forwardsLeft, decrementMaxForwards } from './max-forwards.js';

const asked = (method: string, told?: string): number | undefined =>
  forwardsLeft({ method, headers: told === undefined ? {} : { 'max-forwards': told } } as ClientMessage);

describe('how often a request may be forwarded', () => {
  it('is said by OPTIONS, and by no method that has no such count', () => {
    expect(asked('OPTIONS', '3')).toBe(3);
    expect(asked('OPTIONS', '007')).toBe(7);
    expect(asked('OPTIONS')).toBeUndefined();
    expect(asked('GET', '0')).toBeUndefined();
  });

  it.each(['', '-1', '1.5', 'a', '1, 2', '0x1'])('%j is no number', (told) => {
    expect(asked('OPTIONS', told)).toBeNaN();
  });
});

describe('who gets it next', () => {
  it.each([
    ['Max-Forwards: 3\r\n', 3, 2],
    ['max-forwards:1\r\nMAX-FORWARDS: 9\r\n', 1, 0],
    [`Max-Forwards: ${'9'.repeat(40)}\r\n`, Number('9'.repeat(40)), 1_000_000],
  ])('of %j is told one less, once', (line, left, next) => {
    expect(decrementMaxForwards(`A: b\r\n${line}C: d\r\n`, left)).toBe(`A: b\r\nC: d\r\nMax-Forwards: ${next}\r\n`);
  });
});
