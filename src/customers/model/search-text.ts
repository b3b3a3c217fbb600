/**
 * Search that ignores case and accents. The function `lower()` of SQLite handles only ASCII. So this module converts
 * texts, both when customers are written and for each search. The database only compares them with LIKE.
 */

/** Letters that NFKD does not decompose, with their replacements. */
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', đ: 'd', ł: 'l', æ: 'ae', œ: 'oe', ı: 'i' };

/** Converts a text to lower case without accents, such as `Jürgen Łukasz` to `jurgen lukasz`. */
export function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[ßøđłæœı]/g, (letter) => LETTERS[letter] ?? letter);
}

/** Returns the searchable text of a customer. */
export function searchText(customer: { first_name: string; last_name: string; email: string }): string {
  return fold(`${customer.first_name} ${customer.last_name} ${customer.email}`);
}

/** Returns a LIKE pattern for each word. A customer must match all of them. The escape character is `\`. */
export function likePatterns(search: string): string[] {
  return fold(search)
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => `%${word.replace(/[\\%_]/g, '\\$&')}%`);
}
