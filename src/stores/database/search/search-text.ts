/** Normalizes text for searching and sorting lists, ignoring case and accents. */

/**
 * Maximum length of a normalized text. Normalizing can make a name many times longer. A single Arabic ligature becomes
 * 18 letters.
 */
const LONGEST = 200;
const LIKE_SPECIAL = /[\\%_]/g;

/**
 * Returns the text in lower case and without accents, so that `Reservación` and `RESERVACION` become equal. Cuts the
 * result to 200 characters.
 */
export function searchText(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().slice(0, LONGEST);
}

/** Returns a pattern for `like … escape '\'` that matches the text anywhere. Wildcards in the text are escaped. */
export function likeAnywhere(text: string): string {
  return `%${text.replace(LIKE_SPECIAL, String.raw`\$&`)}%`;
}
