/** What tells two events of one id apart: a hash of all that they say, however their JSON was written. */
import { createHash } from 'node:crypto';
import { canonicalDigits, isExactNumber } from '../../platform/json/exact-json.js';

/** Hash of a value of JSON in which the order of names is no matter. */
export function fingerprintOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('base64url');
}

/**
 * Returns a JavaScript number that has the same value, or a list of the digits where there is none: two ways to write
 * one number are one event.
 */
function numberIn(digits: string): unknown {
  const form = canonicalDigits(digits);
  const number = Number(digits);
  const isSame = Number.isFinite(number) && canonicalDigits(String(number)) === form;
  return isSame ? number : ['number', form];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  if (isExactNumber(value)) return numberIn(value.rawJSON);
  const entries = Object.entries(value).map(([name, each]): [string, unknown] => [name, sorted(each)]);
  // A list of pairs: `__proto__` is a name like any other, and numbers stand first in objects.
  return entries.toSorted(([one], [other]) => (one < other ? -1 : 1));
}
