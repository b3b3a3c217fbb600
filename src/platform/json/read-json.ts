/**
 * Reads JSON from strangers. What would be read as something else than was written is refused: malformed UTF-8, half of
 * a surrogate pair, one name twice (RFC 7493, I-JSON). Numbers keep their digits.
 */
import { isUtf8 } from 'node:buffer';
import { mayBeBroken, parseExact } from './exact-json.js';

/** Objects and lists inside each other. Other parsers stop at 64 too. */
export const DEEPEST_JSON = 64;

const LONGEST_NAME_SHOWN = 100;
const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/** JsonError says why bytes are no JSON that can be taken. Its message starts with a verb: `is not UTF-8`. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/**
 * Reads the value of a JSON text in UTF-8; a byte order mark is skipped.
 * @throws JsonError
 */
export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new JsonError('is not UTF-8');
  const { depth, members } = measure(bytes);
  // Before it is parsed: no code that walks through a value may be led deeper.
  if (depth > DEEPEST_JSON) throw new JsonError(`has more than ${DEEPEST_JSON} objects and lists inside each other`);
  const text = bytes.toString('utf8', bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0);
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (error) {
    throw new JsonError(`is not valid JSON${placeIn(error)}`, { cause: error });
  }
  const found = inspect(value, mayBeBroken(text));
  if (found !== members) throw new JsonError(`has the name ${shown(repeatedName(text))} twice in one object`);
  return value;
}

/** Counts how deep a text goes and how many members its objects have. The text need not be valid. */
function measure(bytes: Buffer): { readonly depth: number; readonly members: number } {
  let [depth, deepest, members, isText] = [0, 0, 0, false];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === COLON) members++;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) deepest = Math.max(deepest, ++depth);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--;
  }
  return { depth: deepest, members };
}

/**
 * Counts the members of all objects of a value.
 * @throws JsonError where a name could change what all objects share, or where a text has half a surrogate pair.
 */
function inspect(value: unknown, mayHaveHalves: boolean): number {
  if (mayHaveHalves && typeof value === 'string' && !value.isWellFormed()) {
    throw new JsonError('has half of a surrogate pair in a text');
  }
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return 0;
  if (Array.isArray(value)) return value.reduce<number>((count, each) => count + inspect(each, mayHaveHalves), 0);
  let count = 0;
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(members)) {
    if (mayHaveHalves && !name.isWellFormed()) throw new JsonError('has half of a surrogate pair in a name');
    if (name === '__proto__' || (name === 'constructor' && hasPrototype(members[name]))) {
      throw new JsonError('must not have the name `__proto__`, or `prototype` in `constructor`');
    }
    count += 1 + inspect(members[name], mayHaveHalves);
  }
  return count;
}

function hasPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}

/** Returns the first name that comes a second time in its object. */
function repeatedName(text: string): string {
  const objects: Set<string>[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') objects.push(new Set());
    else if (token === '}' || token === ']') objects.pop();
    else if (token === ':') {
      const name = JSON.parse(last) as string;
      if (objects.at(-1)?.has(name) === true) return name;
      objects.at(-1)?.add(name);
    } else if (token !== ',') last = token;
  }
  return '';
}

function shown(name: string): string {
  return JSON.stringify(name.length <= LONGEST_NAME_SHOWN ? name : `${name.slice(0, LONGEST_NAME_SHOWN)}…`);
}

function placeIn(error: unknown): string {
  const place = /at position \d+( \(line \d+ column \d+\))?/.exec(error instanceof Error ? error.message : '');
  return place === null ? '' : `: look ${place[0]}`;
}
