/** Where a browser goes on after a sign-in: a page of the panel, whatever it was told. */

const LONGEST = 2_000;
/** Stands for the panel while a path is read: nothing of it is left in what comes back. */
const NOWHERE = 'https://panel.invalid';

/**
 * The path, query and fragment of a page of the panel; `/` for anything that could lead elsewhere: another origin,
 * `//host`, `/\host`, and what browsers read as one of those.
 */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > LONGEST || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return '/';
  const url = URL.parse(text, NOWHERE);
  if (url === null || url.origin !== NOWHERE || url.pathname.startsWith('//')) return '/';
  return `${url.pathname}${url.search}${url.hash}`;
}
