/**
 * Imports API keys. Each line is matched with an existing key by its ID, then by its `external_id` in the account. A
 * line with neither is matched by its secrets.
 */
import { auditedKey, newApiKeyRow } from '../accounts/api-key-rows.js';
import { columnsOf } from '../accounts/api-key-fields.js';
import { hashSecret, hintOf, isOwnFormat } from '../keys/api-key-format.js';
import { changedFields } from '../records/audit-log.js';
import { insertRows, textList } from '../stores/database/json-rows.js';
import type { ApiKeySecretTable, ApiKeyTable } from '../stores/database/schema.js';
import { AccountRows, freeExternalIds, textsOf } from './import-accounts.js';
import { LineError, parseLine, type ImportBatch, type ImportLine, type Outcome } from './import-batch.js';
import { changedKeyLine, newKeyLine, type ChangedKeyLine, type NewKeyLine } from './import-fields.js';

/** Hint of keys whose secret was imported as a hash, without a hint. */
const NO_HINT = '…';

/** Imports the lines of type `api_key`, and sets the outcome of each line. Rejects with the database's error. */
export async function importKeys(batch: ImportBatch, lines: readonly ImportLine[]): Promise<void> {
  if (lines.length === 0) return;
  const { trx, kind, nowMs } = batch;
  const accounts = await AccountRows.read(batch, textsOf(lines, 'account_id'), textsOf(lines, 'account_external_id'));
  const keys = await KeyRows.read(batch, lines);
  const unknownScopes = unknownScopesOf(batch, lines);
  const created = new Map<string, ApiKeyTable>();
  const changed = new Map<string, ApiKeyTable>();
  const secrets: ApiKeySecretTable[] = [];
  const rotated = new Set<string>();
  /** New expiry times of previous secrets that already exist, by their hashes. */
  const previousEnds = new Map<string, number>();

  const addSecrets = (keyId: string, line: NewKeyLine | ChangedKeyLine, hint: string): void => {
    const { secret_sha256: hash, previous_secret_sha256: previous } = line;
    const isForeign = !isOwnFormat(line.secret ?? hint);
    const add = (secretHash: string, expiresAt: number | null, isForeignSecret: boolean): void => {
      keys.putSecret(secretHash, keyId);
      const uses = { last_used_at: null, last_used_ip: null };
      secrets.push({
        hash: secretHash,
        api_key_id: keyId,
        created_at: nowMs,
        expires_at: expiresAt,
        ...uses,
        is_foreign: isForeignSecret ? 1 : null,
      });
    };
    const current = line.secret === undefined ? hash : hashSecret(line.secret);
    if (typeof current === 'string' && keys.keyOfSecret(current) !== keyId) add(current, null, isForeign);
    if (previous !== undefined && keys.keyOfSecret(previous) !== keyId)
      add(previous, line.previous_secret_expires_at ?? nowMs, line.previous_secret_is_foreign);
  };

  const create = (fields: ImportLine['fields'], accountId: string): Outcome => {
    const line = parseLine(newKeyLine, fields);
    checkScopes(line.scopes, unknownScopes);
    if (line.secret !== undefined && typeof line.secret_sha256 === 'string') {
      throw new LineError('has both a secret and a secret_sha256');
    }
    if (line.secret === undefined && typeof line.secret_sha256 !== 'string' && line.status !== 'revoked') {
      throw new LineError('needs a secret or a secret_sha256');
    }
    const hint = hintOfLine(line) ?? NO_HINT;
    const status = line.status === 'expired' ? 'active' : (line.status ?? 'active');
    const base = newApiKeyRow(accountId, line, hint, null, nowMs);
    const row: ApiKeyTable = {
      ...base,
      id: line.id ?? base.id,
      status,
      created_at: line.created_at ?? nowMs,
      last_used_at: line.last_used_at ?? null,
      revoked_at: status === 'revoked' ? (line.revoked_at ?? nowMs) : null,
      previous_secret_expires_at: line.previous_secret_expires_at ?? null,
    };
    keys.put(row);
    created.set(row.id, row);
    addSecrets(row.id, line, hint);
    return 'imported';
  };

  const put = (before: ApiKeyTable, after: ApiKeyTable): Outcome => {
    keys.put(after, before);
    (created.has(after.id) ? created : changed).set(after.id, after);
    return 'updated';
  };

  const update = (before: ApiKeyTable, fields: ImportLine['fields']): Outcome => {
    const line = parseLine(changedKeyLine, fields);
    checkScopes(line.scopes ?? [], unknownScopes);
    if (before.oauth_client_id !== null) throw new LineError(`${before.id} is an OAuth client's`);
    const status = line.status === 'expired' || line.status === undefined ? before.status : line.status;
    if (before.status === 'revoked' && status !== 'revoked') throw new LineError(`${before.id} is revoked`);
    const secret = line.secret === undefined ? line.secret_sha256 : hashSecret(line.secret);
    const isNewSecret = typeof secret === 'string' && keys.keyOfSecret(secret) !== before.id;
    const hint = hintOfLine(line) ?? (isNewSecret ? NO_HINT : before.hint);
    const isNew = created.has(before.id);
    const after: ApiKeyTable = {
      ...before,
      ...columnsOf(line),
      hint,
      status,
      revoked_at: status === 'revoked' ? (before.revoked_at ?? line.revoked_at ?? nowMs) : null,
      previous_secret_expires_at: isNewSecret
        ? (line.previous_secret_expires_at ?? null)
        : before.previous_secret_expires_at,
      last_used_at: latestTime(before.last_used_at, line.last_used_at ?? null),
      updated_at: nowMs,
      version: isNew || changed.has(before.id) ? before.version : before.version + 1,
    };
    const difference = changedFields(auditedKey(before), auditedKey(after));
    if (difference === null && !isNewSecret) {
      if (after.last_used_at === before.last_used_at) return 'skipped';
      // Only the last use differs, so the version of the key does not change.
      return put(before, { ...before, last_used_at: after.last_used_at });
    }
    if (isNewSecret && (isNew || rotated.has(before.id))) throw new LineError('an earlier line has another secret');
    put(before, after);
    if (isNewSecret) {
      rotated.add(before.id);
      const { previous_secret_sha256: previous, previous_secret_expires_at: endMs } = line;
      if (previous !== undefined && typeof endMs === 'number') previousEnds.set(previous, endMs);
    }
    addSecrets(before.id, line, hint);
    const change = difference ?? { before: { hint: before.hint }, after: { hint } };
    if (!isNew) batch.changes.push({ ...target(after), action: 'api_key.updated', ...change });
    return 'updated';
  };

  for (const { index, fields } of lines) {
    batch.settle(index, () => {
      const account = accounts.ownerOf(fields);
      const before = keys.match(fields, account.id);
      if (before === undefined) return create(fields, account.id);
      if (before.account_id !== account.id) throw new LineError(`${before.id} is a key of another account`);
      return batch.shouldUpdateExisting(before.id) ? update(before, fields) : 'skipped';
    });
  }
  await freeExternalIds(batch, 'api_key', [...changed.keys()]);
  for (const row of changed.values()) await trx.updateTable('api_key').set(row).where('id', '=', row.id).execute();
  await insertRows(trx, kind, 'api_key', [...created.values()]);
  if (rotated.size > 0) {
    const query = trx.updateTable('api_key_secret').where('api_key_id', 'in', textList(kind, [...rotated]));
    const stillValid = query.where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]));
    await stillValid.set({ expires_at: nowMs }).execute();
  }
  for (const [hash, endMs] of previousEnds) {
    await trx.updateTable('api_key_secret').set({ expires_at: endMs }).where('hash', '=', hash).execute();
  }
  await insertRows(trx, kind, 'api_key_secret', secrets);
  for (const row of created.values()) {
    batch.changes.push({ ...target(row), action: 'api_key.created', before: null, after: auditedKey(row) });
  }
  for (const { account_id: accountId } of [...created.values(), ...changed.values()]) batch.accountIds.add(accountId);
}

/** KeyRows finds the existing keys that lines describe. */
class KeyRows {
  private readonly byId = new Map<string, ApiKeyTable>();
  private readonly byExternalId = new Map<string, ApiKeyTable>();
  /** IDs of keys by the hash of each secret. */
  private readonly bySecret = new Map<string, string>();

  /** Reads keys and their secrets. Locks the keys until the transaction ends. */
  static async read({ trx, kind }: ImportBatch, lines: readonly ImportLine[]): Promise<KeyRows> {
    const found = new KeyRows();
    const hashes = lines.flatMap(({ fields }) => hashesOf(fields));
    const secrets = await trx
      .selectFrom('api_key_secret')
      .select(['hash', 'api_key_id'])
      .where('hash', 'in', textList(kind, hashes))
      .execute();
    for (const { hash, api_key_id: keyId } of secrets) found.bySecret.set(hash, keyId);
    const ids = [...textsOf(lines, 'id'), ...found.bySecret.values()];
    const externalIds = textsOf(lines, 'external_id');
    const rows = await trx
      .selectFrom('api_key')
      .selectAll()
      .where(({ eb, or }) =>
        or([eb('id', 'in', textList(kind, ids)), eb('external_id', 'in', textList(kind, externalIds))]),
      )
      .orderBy('id')
      .$if(kind === 'postgres', (query) => query.forUpdate())
      .execute();
    for (const row of rows) found.put(row);
    return found;
  }

  /**
   * Adds a row, or replaces the row `before`. Throws `LineError` if another key of the account has the `external_id`.
   */
  put(row: ApiKeyTable, before?: ApiKeyTable): void {
    const taken = this.byExternalId.get(nameOf(row));
    if (row.external_id !== null && taken !== undefined && taken.id !== row.id) {
      throw new LineError(`external_id: is taken by ${taken.id}`);
    }
    if (before !== undefined && before.external_id !== null) this.byExternalId.delete(nameOf(before));
    this.byId.set(row.id, row);
    if (row.external_id !== null) this.byExternalId.set(nameOf(row), row);
  }

  putSecret(hash: string, keyId: string): void {
    this.bySecret.set(hash, keyId);
  }

  keyOfSecret(hash: string): string | undefined {
    return this.bySecret.get(hash);
  }

  /**
   * Returns the existing key that a line describes, or undefined. Throws `LineError` if a secret of the line belongs to
   * another key.
   */
  match(fields: ImportLine['fields'], accountId: string): ApiKeyTable | undefined {
    const { id, external_id: externalId } = fields;
    const name = typeof externalId === 'string' ? nameOf({ account_id: accountId, external_id: externalId }) : '';
    const owners = hashesOf(fields).flatMap((hash) => this.byId.get(this.bySecret.get(hash) ?? '') ?? []);
    const isNamed = id !== undefined || typeof externalId === 'string';
    const match = isNamed ? (this.byId.get(String(id)) ?? this.byExternalId.get(name)) : owners[0];
    const other = owners.find((owner) => owner.id !== match?.id);
    if (other !== undefined) throw new LineError(`the secret belongs to ${other.id}`);
    return match;
  }
}

function nameOf({ account_id: accountId, external_id: externalId }: Pick<ApiKeyTable, 'account_id' | 'external_id'>) {
  return `${accountId} ${externalId}`;
}

/** Returns the hashes of the secrets in a line that has not been validated. */
function hashesOf({ secret, secret_sha256: hash, previous_secret_sha256: previous }: ImportLine['fields']): string[] {
  const hashes = [typeof secret === 'string' ? hashSecret(secret) : hash, previous];
  return hashes
    .filter((each) => typeof each === 'string' && /^[0-9a-f]{64}$/i.test(each))
    .map((each) => String(each).toLowerCase());
}

function latestTime(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

function hintOfLine({ hint, secret }: NewKeyLine | ChangedKeyLine): string | undefined {
  return hint ?? (secret === undefined ? undefined : hintOf(secret));
}

function unknownScopesOf({ catalogue }: ImportBatch, lines: readonly ImportLine[]): ReadonlySet<string> {
  const scopes = lines.flatMap(({ fields }) =>
    Array.isArray(fields['scopes']) ? (fields['scopes'] as unknown[]) : [],
  );
  const named = [...new Set(scopes.filter((scope) => typeof scope === 'string'))];
  return new Set(catalogue.unknownScopes(named).map((index) => named[index] ?? ''));
}

function checkScopes(scopes: readonly string[], unknown: ReadonlySet<string>): void {
  const wrong = scopes.find((scope) => unknown.has(scope));
  if (wrong !== undefined) throw new LineError(`scopes: ${wrong} is not a scope of any operation`);
}

function target({ id, account_id: accountId, version }: ApiKeyTable) {
  return { accountId, targetType: 'api_key', targetId: id, targetVersion: version } as const;
}
