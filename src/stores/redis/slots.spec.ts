/** Hash slots from the examples of the Redis specification, and as computed by a real Redis. */
import { describe, expect, it } from '@jest/globals';
import { slotOfTag } from './slots.js';

describe('the hash slot', () => {
  it.each([
    ['123456789', 0x31c3],
    ['', 0],
    ['foo', 12_182],
    ['somekey', 11_058],
    ['ä', 13_929],
  ])('of %s is %d', (tag, slot) => {
    expect(slotOfTag(tag)).toBe(slot);
  });
});
