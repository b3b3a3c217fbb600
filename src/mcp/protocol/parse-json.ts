/**
 * JSON that a stranger has sent, read within bounds: so deep and no deeper, and without the names by which a program
 * can be led to change what all its objects have in common.
 */
import { isUtf8 } from 'node:buffer';
import { parseError, type RpcError } from './rpc-error.js';

/** Objects and lists inside of each other. */
const DEEPEST = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Without one of these in the text there is no such name; with it, it is looked for. */
const SUSPICIOUS = ['prototype', '__proto__', '\\u00'] as const;

/** The value of a JSON text in UTF-8, or what is wrong with it. */
export function parseJson(bytes: Buffer): { readonly value: unknown } | RpcError {
  if (!isUtf8(bytes)) return parseError('The body is not UTF-8.');
  const text = bytes.toString('utf8');
  // Before it is parsed: nothing that walks through a value is to be led deeper than this.
  if (mayBeTooDeep(text) && isTooDeep(bytes))
    return parseError(`The body has more than ${DEEPEST} objects and lists inside of each other.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return parseError('The body is not JSON.');
  }
  if (SUSPICIOUS.some((part) => text.includes(part)) && hasPrototypeName(value)) {
    return parseError('The body has a member of the name "__proto__", or "prototype" in "constructor".');
  }
  return { value };
}

/** Nearly all have fewer of them than that, however they stand. */
function mayBeTooDeep(text: string): boolean {
  let left = DEEPEST;
  for (const begin of ['{', '[']) {
    for (let at = text.indexOf(begin); at !== -1; at = text.indexOf(begin, at + 1)) if (--left < 0) return true;
  }
  return false;
}

function isTooDeep(bytes: Buffer): boolean {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (++depth > DEEPEST) return true;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--;
  }
  return false;
}

function hasPrototypeName(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Object.hasOwn(value, '__proto__')) return true;
  const made = Object.hasOwn(value, 'constructor') ? (value as { constructor: unknown }).constructor : undefined;
  if (typeof made === 'object' && made !== null && Object.hasOwn(made, 'prototype')) return true;
  // No deeper than the bound.
  return Object.values(value).some(hasPrototypeName);
}
