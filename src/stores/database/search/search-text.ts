/** Normalizes text for searching and sorting lists, ignoring case and accents. */

/** Normalizing can make a name of 200 characters many times longer. A single Arabic ligature becomes 18 letters. */
const LONGEST = 200;
const LIKE_SPECIAL = /[\\%_]/g;

/** Returns the text without case and accents: `Reservación` and `RESERVACION` become the same. */
export function searchText(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().slice(0, LONGEST);
}

/** Returns a pattern for `like … escape '\'` that finds the text anywhere. Wildcards in the text are escaped. */
export function likeAnywhere(text: string): string {
  return `%${text.replace(LIKE_SPECIAL, String.raw`\$&`)}%`;
}
