/**
 * Writes accounts and keys directly into the database before the program starts, as the same rows that it would write.
 * The admin API would take minutes for 100,000 keys, because it commits each key with an audit entry.
 */
import path from 'node:path';
import { writeSecrets } from '../keys.mjs';

const dist = (file) => import(path.resolve(import.meta.dirname, '../../../dist', file));

const KEYS_PER_ACCOUNT = 10;
const ROWS_PER_STATEMENT = 500;

/**
 * Writes `count` keys with ten keys per account, and a file of their secrets.
 * @param {{ dataDir: string, name: string, count: number, plan: string, scope: string }} options `name`: prefix of the
 *   file of secrets
 * @returns {Promise<{ secrets: string[], secretsFile: string, oneOfEachAccount: string[] }>} `oneOfEachAccount`: a
 *   secret of each account
 */
export async function writeKeys({ dataDir, name, count, plan, scope }) {
  const { newId } = await dist('stores/database/ids.js');
  const { createSecret, hashSecret, hintOf } = await dist('keys/api-key-format.js');
  const rows = { account: [], api_key: [], api_key_secret: [] };
  const secrets = [];
  const times = { created_at: Date.now(), updated_at: Date.now() };
  for (let made = 0; made < count; made++) {
    if (made % KEYS_PER_ACCOUNT === 0) rows.account.push(accountRow(newId('acc', times.created_at), plan, times));
    const secret = createSecret('live');
    const id = newId('key', times.created_at);
    rows.api_key.push(keyRow(id, rows.account.at(-1).id, scope, hintOf(secret), times));
    rows.api_key_secret.push({
      hash: hashSecret(secret),
      api_key_id: id,
      created_at: times.created_at,
      expires_at: null,
    });
    secrets.push(secret);
  }
  await insert(dataDir, rows);
  return {
    secrets,
    secretsFile: writeSecrets(`${name}-keys.txt`, secrets),
    oneOfEachAccount: secrets.filter((_, index) => index % KEYS_PER_ACCOUNT === 0),
  };
}

/** Returns a row like `AccountStore.create`. */
function accountRow(id, plan, times) {
  const grant = { grant_period: 0, grant_amount: 0 };
  return { id, name: 'Rafting', plan, time_zone: 'UTC', billing_day: 1, status: 'active', ...grant, ...times };
}

/** Returns a row like `ApiKeyStore.create`. */
function keyRow(id, accountId, scope, hint, times) {
  return {
    id,
    account_id: accountId,
    name: 'bench',
    scopes: JSON.stringify([scope]),
    environment: 'live',
    status: 'active',
    expires_at: null,
    allowed_ips: '[]',
    hint,
    limits: null,
    grant_period: 0,
    grant_amount: 0,
    last_used_at: null,
    ...times,
    revoked_at: null,
  };
}

async function insert(dataDir, rows) {
  const { openDatabase } = await dist('stores/database/connect.js');
  const database = await openDatabase({ dataDir });
  for (const [table, all] of Object.entries(rows)) {
    for (let at = 0; at < all.length; at += ROWS_PER_STATEMENT) {
      const some = all.slice(at, at + ROWS_PER_STATEMENT);
      await database.db.insertInto(table).values(some).execute();
    }
  }
  await database.close();
}
