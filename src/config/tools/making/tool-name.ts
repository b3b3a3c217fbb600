/** Default name of a tool, derived from its operation ID. */
import { createHash } from 'node:crypto';

const LONGEST_NAME = 40;
const HASH_LENGTH = 4;
/** Words that do not distinguish tools. */
const FILLERS = new Set('a an and by for from in into of on or the to with'.split(' '));

/** A name, and whether it was shortened. */
export interface DefaultName {
  readonly name: string;
  readonly isCut: boolean;
}

/**
 * Converts `listCustomers` to `list_customers`. A long ID loses filler words first, then its end; a hash keeps it
 * distinct.
 * @param fallback name of the operation, such as `GET /customers`, if the ID has no usable characters
 */
export function defaultToolName(id: string, fallback: string): DefaultName {
  const words = wordsOf(id);
  const usable = words.length > 0 ? words : wordsOf(fallback);
  const [first = 'tool'] = usable;
  // Names start with a letter, so `2fa_status` needs a prefix.
  const all = /^[a-z]/.test(first) ? usable : ['tool', ...usable];
  const whole = all.length > 0 ? all.join('_') : 'tool';
  if (whole.length <= LONGEST_NAME) return { name: whole, isCut: false };
  const telling = all.filter((word, index) => index === 0 || !FILLERS.has(word));
  const hash = createHash('sha256').update(id).digest('hex').slice(0, HASH_LENGTH);
  return { name: `${cut(telling, LONGEST_NAME - HASH_LENGTH - 1)}_${hash}`, isCut: true };
}

/** Joins as many whole words as fit, or the beginning of a long first word. */
function cut(words: readonly string[], longest: number): string {
  let name = '';
  for (const word of words) {
    const longer = name === '' ? word : `${name}_${word}`;
    if (longer.length > longest) break;
    name = longer;
  }
  return name === '' ? (words[0] ?? '').slice(0, longest) : name;
}

/** Splits `getHTTPServer2` into `get`, `http`, `server2`. Removes accents and non-Latin letters. */
function wordsOf(id: string): string[] {
  const plain = id.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  const spaced = plain.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2');
  return spaced.toLowerCase().match(/[a-z0-9]+/g) ?? [];
}
