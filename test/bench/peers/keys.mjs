/** Key table of the Node peers: key records by the SHA-256 of the secret. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const records = new Map(
  readFileSync(process.env.KEYS_FILE, 'utf8')
    .split('\n')
    .map((line) => line.split('\t'))
    .map(([hash, account, id, scopes, keyMinute, , keyMonth]) => [
      hash,
      { account, id, scopes, minute: Number(keyMinute), month: Number(keyMonth) },
    ]),
);

/** Returns the key record of an `Authorization` header, or undefined. */
export function findKey(authorization) {
  if (!authorization?.startsWith('Bearer ')) return undefined;
  return records.get(createHash('sha256').update(authorization.slice(7)).digest('hex'));
}
