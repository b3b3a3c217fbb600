/** The API keys of a run: 1,000 keys of 100 accounts, in the product's own format, and the limits of their plans. */
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { temporaryFolder } from './processes.mjs';

export const ACCOUNTS = 100;
export const KEYS_PER_ACCOUNT = 10;
export const SCOPE = 'customers:read';

/** Far above the load, so that every window is counted and none refuses. */
export const BENCH_LIMITS = {
  key: { minute: 10_000_000, month: 1_000_000_000 },
  account: { minute: 100_000_000, month: 10_000_000_000 },
};
/** Of the one key that shows that a gateway refuses. */
export const TINY_LIMITS = { ...BENCH_LIMITS, key: { minute: 3, month: 1_000_000_000 } };

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A well-formed secret: `tg_live_`, 30 random base62 characters and six for their CRC-32. */
export function newSecret() {
  const random = Array.from(randomBytes(30), (byte) => BASE62[byte % 62]).join('');
  let checksum = '';
  for (let rest = crc32(random); checksum.length < 6; rest = Math.floor(rest / 62))
    checksum = BASE62[rest % 62] + checksum;
  return `tg_live_${random}${checksum}`;
}

/**
 * Keys for the peers, which have no admin API: secrets for the load, and a table (hash, account, key id, scopes, the
 * four limits; tabs between) for the gateway.
 * @returns {{ secrets: string[], secretsFile: string, tableFile: string, unscoped: string, tiny: string }}
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

/** Writes the secrets that the load sends, one a line. */
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
