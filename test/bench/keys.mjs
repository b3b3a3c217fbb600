/** Creates the API keys of a run: 1,000 keys of 100 accounts in Trailgate's format, and the limits of their plans. */
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { temporaryFolder } from './processes.mjs';

export const ACCOUNTS = 100;
export const KEYS_PER_ACCOUNT = 10;
export const SCOPE = 'customers:read';

/** Limits far above the load, so that each window is counted but never refuses. */
export const BENCH_LIMITS = {
  key: { minute: 10_000_000, month: 1_000_000_000 },
  account: { minute: 100_000_000, month: 10_000_000_000 },
};
/** Limits of the key that checks whether a gateway refuses requests above the limit. */
export const TINY_LIMITS = { ...BENCH_LIMITS, key: { minute: 3, month: 1_000_000_000 } };

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns a well-formed secret: `tg_live_`, 30 random base62 characters, and their CRC-32 as six characters. */
export function newSecret() {
  const random = Array.from(randomBytes(30), (byte) => BASE62[byte % 62]).join('');
  let checksum = '';
  for (let rest = crc32(random); checksum.length < 6; rest = Math.floor(rest / 62))
    checksum = BASE62[rest % 62] + checksum;
  return `tg_live_${random}${checksum}`;
}

/**
 * Creates keys for the peers, which have no admin API.
 * @returns {{ secrets: string[], secretsFile: string, tableFile: string, unscoped: string, tiny: string }} keys
 *   - `secretsFile`: file with the secrets of the load
 *   - `tableFile`: tab-separated file for the gateway, with hash, account, key ID, scopes and four limits of each key
 *   - `unscoped`: secret of a key without the scope
 *   - `tiny`: secret of a key with `TINY_LIMITS`
 */
export function makePeerKeys() {
  const rows = [];
  const add = (account, scopes, limits) => {
    const secret = newSecret();
    rows.push({ secret, account, id: `key_${String(rows.length).padStart(20, '0')}`, scopes, limits });
    return secret;
  };
  const secrets = Array.from({ length: ACCOUNTS * KEYS_PER_ACCOUNT }, (_, i) =>
    add(accountId(Math.floor(i / KEYS_PER_ACCOUNT)), SCOPE, BENCH_LIMITS),
  );
  const unscoped = add(accountId(ACCOUNTS), 'invoices:read', BENCH_LIMITS);
  const tiny = add(accountId(ACCOUNTS + 1), SCOPE, TINY_LIMITS);
  const tableFile = path.join(temporaryFolder(), 'keys.tsv');
  writeFileSync(tableFile, rows.map(tableLine).join('\n'));
  return { secrets, secretsFile: writeSecrets('peer-keys.txt', secrets), tableFile, unscoped, tiny };
}

/** Writes secrets for the load to a file, one per line. Returns its path. */
export function writeSecrets(name, secrets) {
  const file = path.join(temporaryFolder(), name);
  writeFileSync(file, secrets.join('\n'));
  return file;
}

function accountId(number) {
  return `acc_${String(number).padStart(20, '0')}`;
}

function tableLine({ secret, account, id, scopes, limits: { key, account: whole } }) {
  const hash = createHash('sha256').update(secret).digest('hex');
  return [hash, account, id, scopes, key.minute, whole.minute, key.month, whole.month].join('\t');
}
