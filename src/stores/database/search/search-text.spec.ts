/** Normalization for search, and escaping of wildcards. */
import { expect, it } from '@jest/globals';
import { likeAnywhere, searchText } from './search-text.js';

it.each([
  ['Booking Site', 'booking site'],
  ['Reservación', 'reservacion'],
  ['ÄRGER', 'arger'],
  ['Straße', 'straße'],
  ['Ⅷ ﬁnal', 'viii final'],
  ['日本語', '日本語'],
  ['100 % a_b', '100 % a_b'],
])('%s is normalized to %s', (name, text) => expect(searchText(name)).toBe(text));

it('a normalized text is at most 200 characters long', () => {
  expect(searchText('\uFDFA'.repeat(200))).toHaveLength(200);
});

it.each([
  ['a%b', String.raw`%a\%b%`],
  ['_', String.raw`%\_%`],
  ['\\', String.raw`%\\%`],
  ["'; drop", "%'; drop%"],
])('%s is matched literally', (text, pattern) => expect(likeAnywhere(text)).toBe(pattern));
