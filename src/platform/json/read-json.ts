/**
 * Parses untrusted JSON. Rejects malformed UTF-8, lone surrogates and duplicate names (RFC 7493, I-JSON), because other
 * parsers may read them differently. Numbers keep their digits.
 */
import { isUtf8 } from 'node:buffer';
import { mayBeBroken, parseExact } from './exact-json.js';

/** Maximum nesting of objects and arrays. Some parsers of backends have the same limit by default. */
export const DEEPEST_JSON = 64;

const LONGEST_NAME_SHOWN = 100;
const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/** JsonError explains why JSON was rejected. The message begins with a verb, such as `is not UTF-8`. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/**
 * Parses a JSON text in UTF-8. Skips a byte order mark.
 * @throws JsonError if the text is malformed, ambiguous, or nested too deeply.
 */
export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new JsonError('is not UTF-8');
  const { depth, members } = measureText(bytes);
  // The nesting is checked before parsing, so that no recursive code receives a deeper value.
  if (depth > DEEPEST_JSON) throw new JsonError(`has more than ${DEEPEST_JSON} objects and lists inside each other`);
  const text = bytes.toString('utf8', bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0);
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (error) {
    throw new JsonError(`is not valid JSON${describePosition(error)}`, { cause: error });
  }
  const found = inspect(value, mayBeBroken(text));
  if (found !== members) throw new JsonError(`has the name ${quoteName(repeatedName(text))} twice in one object`);
  return value;
}

/** JsonSize describes the structure of a JSON text. */
export interface JsonSize {
  /** Deepest nesting of objects and arrays. */
  readonly depth: number;
  /** Number of members of all objects. Members with the same name count separately. */
  readonly members: number;
  /** Number of brackets, braces, colons and commas. */
  readonly marks: number;
}

/** Measures a text without parsing it. The text need not be valid. */
export function measureText(bytes: Buffer): JsonSize {
  let [depth, deepest, members, marks, isText] = [0, 0, 0, 0, false];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isText = false;
      continue;
    }
    if (byte === QUOTE) isText = true;
    else if (byte === COLON) members++;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) deepest = Math.max(deepest, ++depth);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--;
    else if (byte !== COMMA) continue;
    if (byte !== QUOTE) marks++;
  }
  return { depth: deepest, members, marks };
}

/**
 * Counts the members of all objects in a value.
 * @throws JsonError for names that could cause prototype pollution, and for lone surrogates.
 */
function inspect(value: unknown, mayBeIllFormed: boolean): number {
  if (mayBeIllFormed && typeof value === 'string' && !value.isWellFormed()) {
    throw new JsonError('has half of a surrogate pair in a text');
  }
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return 0;
  if (Array.isArray(value)) return value.reduce<number>((count, each) => count + inspect(each, mayBeIllFormed), 0);
  let count = 0;
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(members)) {
    if (mayBeIllFormed && !name.isWellFormed()) throw new JsonError('has half of a surrogate pair in a name');
    if (name === '__proto__' || (name === 'constructor' && hasPrototype(members[name]))) {
      throw new JsonError('must not have the name `__proto__`, or `prototype` in `constructor`');
    }
    count += 1 + inspect(members[name], mayBeIllFormed);
  }
  return count;
}

function hasPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}

/** Returns the first name that occurs twice in one object of a valid JSON text. */
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

function quoteName(name: string): string {
  return JSON.stringify(name.length <= LONGEST_NAME_SHOWN ? name : `${name.slice(0, LONGEST_NAME_SHOWN)}…`);
}

function describePosition(error: unknown): string {
  const position = /at position \d+( \(line \d+ column \d+\))?/.exec(error instanceof Error ? error.message : '');
  return position === null ? '' : `: look ${position[0]}`;
}
