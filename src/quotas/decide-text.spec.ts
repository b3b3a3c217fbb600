import { describe, expect, it } from '@jest/globals';
import { readNumbers } from './decide-text.js';

describe('numbers in an answer', () => {
  const read = (text: string): number[] => {
    const numbers = new Float64Array(16);
    return Array.from(numbers.subarray(0, readNumbers(Buffer.from(text), numbers)));
  };

  it.each([
    ['one', '1763640000123', [1_763_640_000_123]],
    ['several', '1763640000123 0 7 12', [1_763_640_000_123, 0, 7, 12]],
    ['below zero', '5 -1 0 -20 3', [5, -1, 0, -20, 3]],
    ['the greatest', '9007199254740991 1', [Number.MAX_SAFE_INTEGER, 1]],
  ])('%s', (_, text, expected) => expect(read(text)).toEqual(expected));
});
