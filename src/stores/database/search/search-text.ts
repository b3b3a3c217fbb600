/** Texts as lists are searched and sorted by them: letters alike whatever their case and accents. */

/** A name of 200 characters may become many times as long (one Arabic ligature is 18 letters). */
const LONGEST = 200;
const LIKE_SPECIAL = /[\\%_]/g;

/** The text without case and accents: `Reservación` and `RESERVACION` are the same. */
export function searchText(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().slice(0, LONGEST);
}

/** A pattern for `like … escape '\'` that finds the text anywhere, with what the pattern language knows as itself. */
export function likeAnywhere(text: string): string {
  return `%${text.replace(LIKE_SPECIAL, String.raw`\$&`)}%`;
}
