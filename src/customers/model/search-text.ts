/**
 * Normalizes texts for a search that ignores case and accents, because SQLite's `lower()` handles only ASCII. Customers
 * are normalized when they are written, and search words for each search. The database compares both with LIKE.
 */

/** Letters that NFKD does not decompose, with their replacements. */
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', đ: 'd', ł: 'l', æ: 'ae', œ: 'oe', ı: 'i' };

/** Converts a text to lower case without accents, such as `Jürgen Łukasz` to `jurgen lukasz`. */
export function foldCase(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[ßøđłæœı]/g, (letter) => LETTERS[letter] ?? letter);
}

/** Returns the searchable text of a customer. */
export function searchText(customer: { first_name: string; last_name: string; email: string }): string {
  return foldCase(`${customer.first_name} ${customer.last_name} ${customer.email}`);
}

/**
 * Returns a LIKE pattern for each word of a search. A customer must match all patterns. The escape character is `\`.
 */
export function likePatterns(search: string): string[] {
  return foldCase(search)
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => `%${word.replace(/[\\%_]/g, '\\$&')}%`);
}
