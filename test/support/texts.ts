/** Texts for properties. */
import fc from 'fast-check';

/** Any character of Unicode, a third of them ASCII. `unit: 'binary'` builds a table of all of them first, which takes a second. */
export const ANY_CHARACTER = fc
  .oneof(fc.nat(0x7f), fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10_ffff }))
  .map((code) => String.fromCodePoint(code));
