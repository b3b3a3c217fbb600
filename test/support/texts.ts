/** Texts for property-based tests. */
import fc from 'fast-check';

/**
 * Any Unicode character, with at least a third ASCII. `unit: 'binary'` of fast-check would first build a table of all
 * characters, which takes a second.
 */
export const ANY_CHARACTER = fc
  .oneof(fc.nat(0x7f), fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10_ffff }))
  .map((code) => String.fromCodePoint(code));
