/**
 * Search without case and accents. SQLite's `lower()` handles ASCII only, so text is folded here, on write and per
 * query. The database only compares with LIKE.
 */

/** Letters that NFKD does not decompose. */
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', đ: 'd', ł: 'l', æ: 'ae', œ: 'oe', ı: 'i' };

/** Converts to lower case without accents: `Jürgen Łukasz` → `jurgen lukasz`. */
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

/** Returns one LIKE pattern (escape character `\`) per word. All must match. */
export function likePatterns(search: string): string[] {
  return fold(search)
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => `%${word.replace(/[\\%_]/g, '\\$&')}%`);
}
