/** What tells two events of one id apart: a hash of all that they say, however their JSON was written. */
import { createHash } from 'node:crypto';

/** Hash of a value of JSON in which the order of names is no matter. */
export function fingerprintOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('base64url');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, each]): [string, unknown] => [name, sorted(each)]);
  // A list of pairs: `__proto__` is a name like any other, and numbers stand first in objects.
  return entries.toSorted(([one], [other]) => (one < other ? -1 : 1));
}
