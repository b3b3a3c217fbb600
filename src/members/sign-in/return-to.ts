/** Validates the path of the page that the panel opens after a sign-in, to prevent open redirects. */

const LONGEST_PATH = 2_000;
/** Placeholder origin for parsing, which never appears in the result. */
const PLACEHOLDER_ORIGIN = 'https://panel.invalid';

/**
 * Returns the path, query and fragment of a panel page. Returns `/` for a missing or overlong text, and for any text
 * that could lead to another origin, such as `//host` or `/\host`.
 */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > LONGEST_PATH || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return '/';
  const url = URL.parse(text, PLACEHOLDER_ORIGIN);
  if (url === null || url.origin !== PLACEHOLDER_ORIGIN || url.pathname.startsWith('//')) return '/';
  return `${url.pathname}${url.search}${url.hash}`;
}
