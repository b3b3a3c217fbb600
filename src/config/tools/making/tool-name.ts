/** Derives the default name of a tool from its operation ID. */
import { createHash } from 'node:crypto';

const MAX_NAME_LENGTH = 40;
const HASH_LENGTH = 4;
/** Words that do not help to distinguish tools. */
const FILLERS = new Set('a an and by for from in into of on or the to with'.split(' '));

/** Result of `defaultToolName`. `isCut` tells whether the name was shortened. */
export interface DefaultName {
  readonly name: string;
  readonly isCut: boolean;
}

/**
 * Returns the default name of a tool, such as `list_customers` for `listCustomers`. A long ID first loses filler words,
 * then words at its end. A hash of the ID keeps shortened names distinct.
 * @param fallback method and path, such as `GET /customers`. It is used if the ID has no usable characters.
 */
export function defaultToolName(id: string, fallback: string): DefaultName {
  const words = wordsOf(id);
  const usable = words.length > 0 ? words : wordsOf(fallback);
  const [first = 'tool'] = usable;
  // Names must start with a letter, so a name such as `2fa_status` needs a prefix.
  const nameWords = /^[a-z]/.test(first) ? usable : ['tool', ...usable];
  const whole = nameWords.length > 0 ? nameWords.join('_') : 'tool';
  if (whole.length <= MAX_NAME_LENGTH) return { name: whole, isCut: false };
  const significant = nameWords.filter((word, index) => index === 0 || !FILLERS.has(word));
  const hash = createHash('sha256').update(id).digest('hex').slice(0, HASH_LENGTH);
  return { name: `${joinUpTo(significant, MAX_NAME_LENGTH - HASH_LENGTH - 1)}_${hash}`, isCut: true };
}

/** Joins as many whole words as fit into `longest` characters. If the first word is too long, returns its beginning. */
function joinUpTo(words: readonly string[], longest: number): string {
  let name = '';
  for (const word of words) {
    const longer = name === '' ? word : `${name}_${word}`;
    if (longer.length > longest) break;
    name = longer;
  }
  return name === '' ? (words[0] ?? '').slice(0, longest) : name;
}

/**
 * Splits `getHTTPServer2` into `get`, `http` and `server2`. Removes accents and all characters except letters and
 * digits of ASCII.
 */
function wordsOf(id: string): string[] {
  const plain = id.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  const spaced = plain.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2');
  return spaced.toLowerCase().match(/[a-z0-9]+/g) ?? [];
}
