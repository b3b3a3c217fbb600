/** What a tool is called where nobody has named it: the id of its operation in the form that every client takes. */
import { createHash } from 'node:crypto';

const LONGEST_NAME = 40;
const HASH_LENGTH = 4;
/** Words that tell no tool from another. */
const FILLERS = new Set('a an and by for from in into of on or the to with'.split(' '));

/** A name, and whether parts of the id are missing from it. */
export interface DefaultName {
  readonly name: string;
  readonly isCut: boolean;
}

/**
 * `listCustomers` → `list_customers`. An id that is too long first loses words that say nothing, then its end; a hash
 * of all of it keeps the rest apart from others that begin alike.
 * @param fallback what the operation is called where nothing of its id can stand in a name: `GET /customers`.
 */
export function defaultToolName(id: string, fallback: string): DefaultName {
  const words = wordsOf(id);
  const usable = words.length > 0 ? words : wordsOf(fallback);
  const [first = 'tool'] = usable;
  // A name begins with a letter: `2fa_status` is no name.
  const all = /^[a-z]/.test(first) ? usable : ['tool', ...usable];
  const whole = all.length > 0 ? all.join('_') : 'tool';
  if (whole.length <= LONGEST_NAME) return { name: whole, isCut: false };
  const telling = all.filter((word, index) => index === 0 || !FILLERS.has(word));
  const hash = createHash('sha256').update(id).digest('hex').slice(0, HASH_LENGTH);
  return { name: `${cut(telling, LONGEST_NAME - HASH_LENGTH - 1)}_${hash}`, isCut: true };
}

/** As many whole words as there is room for; of a first one that is longer its beginning. */
function cut(words: readonly string[], longest: number): string {
  let name = '';
  for (const word of words) {
    const longer = name === '' ? word : `${name}_${word}`;
    if (longer.length > longest) break;
    name = longer;
  }
  return name === '' ? (words[0] ?? '').slice(0, longest) : name;
}

/** `getHTTPServer2` → `get`, `http`, `server2`; accents are left out, and so are letters that are not Latin. */
function wordsOf(id: string): string[] {
  const plain = id.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  const spaced = plain.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2');
  return spaced.toLowerCase().match(/[a-z0-9]+/g) ?? [];
}
