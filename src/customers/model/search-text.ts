/**
 * Search that ignores case and accents. SQLite's `lower()` knows ASCII only, so the text is folded here: once when a
 * customer is written and once per query. The database only compares with LIKE.
 */

/** Letters that NFKD does not take apart. */
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', đ: 'd', ł: 'l', æ: 'ae', œ: 'oe', ı: 'i' };

/** Lower case without accents: `Jürgen Łukasz` → `jurgen lukasz`. */
export function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[ßøđłæœı]/g, (letter) => LETTERS[letter] ?? letter);
}

/** What a search looks through: names and email. */
export function searchText(customer: { first_name: string; last_name: string; email: string }): string {
  return fold(`${customer.first_name} ${customer.last_name} ${customer.email}`);
}

/** One LIKE pattern (escape character `\`) per word of a search; all of them must match. */
export function likePatterns(search: string): string[] {
  return fold(search)
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => `%${word.replace(/[\\%_]/g, '\\$&')}%`);
}
