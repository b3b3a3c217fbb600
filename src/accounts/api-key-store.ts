/**
 * Creates, changes and revokes API keys for the admin API. Each change is one transaction with its audit entry. After
 * the commit, all nodes are notified.
 */
import type { Transaction } from 'kysely';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Page } from '../stores/database/cursor.js';
import type { ApiKeyTable, Tables } from '../stores/database/schema.js';
import { Problem } from '../platform/problems/errors.js';
import { limitsInForce, type KeyAccess } from '../records/access-changes.js';
import { lockAccount, type Account, type StoreDependencies } from './accounts.js';
import { readImpact, type ApiKeyImpact } from './api-key-impact.js';
import { ApiKeyList, type ApiKeyQuery, type ListedApiKey } from './api-key-list.js';
import { columnsOf, settingsOf, type CreateApiKey, type RotateApiKey, type UpdateApiKey } from './api-key-fields.js';
import { ACCESS_TOKEN_HINT, createSecret, hintOf } from '../keys/api-key-format.js';
import { DatabaseKeyLookup } from '../keys/api-key-lookup.js';
import {
  apiKeyNotFound,
  apiKeyOf,
  auditedKey,
  insertSecret,
  previousSecretEnd,
  lockApiKey,
  newApiKeyRow,
  readAuthorizers,
  formatTimestamp,
  type ApiKey,
  type AuthorizedClient,
} from './api-key-rows.js';
import { writeUnique } from '../records/external-fields.js';
import { changesSince, checkVersion, type ExpectedVersions } from '../records/versions.js';
import { ChangeEvents } from './change-events.js';
import { checkClientKey } from './oauth-client-keys.js';
import type { AuditAction } from '../records/audit-actions.js';
import { changedFields, recordChange, type AuditedFields, type ChangeContext } from '../records/audit-log.js';

/** ApiKeyWithSecret is a key with its new secret. The database stores only the hash of the secret. */
export interface ApiKeyWithSecret {
  readonly key: ApiKey;
  readonly secret: string;
}

export interface RotatedApiKey extends ApiKeyWithSecret {
  /** When the previous secret stops working, in milliseconds since the epoch. */
  readonly previousSecretExpiresAt: number;
}

/** CreationCheck runs first in the transaction that creates a key. Rejects if the key must not be created. */
type CreationCheck = (trx: Transaction<Tables>, kind: DatabaseHandle['kind']) => Promise<void>;

/**
 * Time for which the hash of a replaced secret is stored: 365 days. During this time, the secret is refused as expired.
 * Afterwards, its use counts as an attempt with an invalid key.
 */
const DEAD_SECRET_RETENTION_MS = 365 * 86_400_000;

/**
 * ApiKeyStore creates, reads and changes API keys. Methods reject with a `Problem` for errors of the caller, otherwise
 * with the database's error.
 */
export class ApiKeyStore extends DatabaseKeyLookup {
  private readonly keyLists: ApiKeyList;
  private readonly events: ChangeEvents;

  constructor(private readonly deps: StoreDependencies) {
    super(deps.database.db, deps.database.kind);
    this.keyLists = new ApiKeyList(deps);
    this.events = new ChangeEvents(deps.signal);
  }

  /**
   * Creates a key with a secret. Only this method returns the secret. Rejects with `validation_failed` for an unknown
   * scope or a past expiration, `resource_not_found` for the account, or `conflict` for a taken `external_id`.
   */
  async create(accountId: string, input: CreateApiKey, context: ChangeContext): Promise<ApiKeyWithSecret> {
    const secret = createSecret(input.environment);
    return { key: await this.insert(accountId, input, secret, null, context), secret };
  }

  /**
   * Creates a key for the access tokens of an OAuth client. The key has no other secret. Rejects as `create` does.
   * @param check runs first in the transaction; rejects if the key must not be created
   */
  createForClient(
    accountId: string,
    input: CreateApiKey,
    client: AuthorizedClient,
    context: ChangeContext,
    check: CreationCheck = async () => {},
  ): Promise<ApiKey> {
    return this.insert(accountId, input, null, client, context, check);
  }

  private async insert(
    accountId: string,
    input: CreateApiKey,
    secret: string | null,
    client: AuthorizedClient | null,
    context: ChangeContext,
    check?: CreationCheck,
  ): Promise<ApiKey> {
    this.validate(input);
    const now = this.deps.clock.now();
    const row = newApiKeyRow(accountId, input, secret === null ? ACCESS_TOKEN_HINT : hintOf(secret), client, now);
    await this.db.transaction().execute(async (trx) => {
      await check?.(trx, this.deps.database.kind);
      const { plan } = await lockAccount(trx, this.deps.database.kind, accountId);
      context.authorize?.('api_key', null, this.accessOf(row, plan));
      await writeUnique(trx.insertInto('api_key').values(row).execute(), 'key of the account');
      if (secret !== null) await insertSecret(trx, row.id, secret, now);
      await this.record(trx, context, row, 'api_key.created', { before: null, after: auditedKey(row) });
    });
    // Notifies the webhook workers. The message to the nodes has no effect, because no node has cached the key yet.
    await this.announce(row);
    return apiKeyOf(row, now);
  }

  /** Returns a key. Rejects with `resource_not_found`. */
  async get(id: string): Promise<ApiKey> {
    const row = await this.db.selectFrom('api_key').selectAll().where('id', '=', id).executeTakeFirst();
    return apiKeyOf(row ?? apiKeyNotFound(), this.deps.clock.now());
  }

  /**
   * Returns a page of an account's keys with their month counts. Rejects with `invalid_cursor` for a cursor of another
   * query.
   */
  list(account: Account, query: ApiKeyQuery): Promise<Page<ListedApiKey>> {
    return this.keyLists.page(account, query);
  }

  /**
   * Reads the names of the members who authorized the OAuth clients of these keys, by member ID. Erased members have no
   * entry.
   */
  findAuthorizers(keys: readonly ApiKey[]): Promise<ReadonlyMap<string, string>> {
    return readAuthorizers(this.db, keys);
  }

  /** Reads what revoking or changing a key would affect. */
  readImpact(key: ApiKey, account: Account): Promise<ApiKeyImpact> {
    return readImpact(this.deps, key, account);
  }

  /**
   * Changes the given fields. Rejects with `conflict` for a revoked key or a taken `external_id`. Rejects with
   * `validation_failed` for invalid fields, or if the key of an OAuth client would exceed its grant. Rejects with
   * `precondition_failed` for a stale version.
   */
  async update(
    id: string,
    changes: UpdateApiKey,
    context: ChangeContext,
    expected?: ExpectedVersions,
  ): Promise<ApiKey> {
    this.validate(changes);
    const now = this.deps.clock.now();
    const row = await this.db.transaction().execute(async (trx) => {
      const before = await lockApiKey(trx, this.deps.database.kind, id);
      if (before.status === 'revoked') throw await this.revokedConflict(trx, before);
      const after: ApiKeyTable = {
        ...before,
        ...columnsOf(changes),
        updated_at: now,
        version: before.version + 1,
      };
      const difference = changedFields(auditedKey(before), auditedKey(after));
      // A repeated change needs no version check.
      if (difference === null) return before;
      await this.checkVersion(trx, before, expected);
      await checkClientKey(trx, before, after, this.deps.longestAccessMs?.() ?? 0);
      await this.authorize(trx, context, before, after);
      // The client's registration may expire before the key, if the configured maximum lifetime was shorter when the
      // client was authorized.
      const { oauth_client_id: clientId, expires_at: endsMs } = after;
      if (clientId !== null && endsMs !== null) await this.deps.keepClient?.(trx, clientId, endsMs);
      const update = trx.updateTable('api_key').set(after).where('id', '=', id);
      await writeUnique(update.execute(), 'key of the account');
      await this.record(trx, context, after, 'api_key.updated', difference);
      return after;
    });
    await this.announce(row);
    return apiKeyOf(row, now);
  }

  /**
   * Gives the key a new secret. The current secret works until the overlap ends or the key expires. At most two secrets
   * work at a time. If the previous secret of an earlier rotation still works, rejects with `previous_secret_active`,
   * unless `end_previous_secret` is set or the overlap is 0. Rejects with `conflict` for a key that is revoked, expired
   * or of an OAuth client.
   */
  async rotate(
    id: string,
    { overlap_seconds: overlapSeconds, end_previous_secret: endsPrevious = false }: RotateApiKey,
    context: ChangeContext,
    expected?: ExpectedVersions,
  ): Promise<RotatedApiKey> {
    const now = this.deps.clock.now();
    const { row, secret, overlapEnd } = await this.db.transaction().execute(async (trx) => {
      const before = await lockApiKey(trx, this.deps.database.kind, id);
      if (before.status === 'revoked') throw await this.revokedConflict(trx, before);
      if (before.oauth_client_id !== null)
        throw conflict('The key belongs to an OAuth client, which renews its tokens itself.');
      if (before.expires_at !== null && before.expires_at <= now) {
        throw conflict('The key has expired. Extend its expiration first, or create a new key.');
      }
      await this.checkVersion(trx, before, expected);
      await this.authorize(trx, context, before, before);
      const previousEnd = previousSecretEnd(before, now);
      if (previousEnd !== null && !endsPrevious && overlapSeconds > 0) throw previousSecretActive(previousEnd);
      const end = Math.min(now + overlapSeconds * 1_000, before.expires_at ?? Number.MAX_SAFE_INTEGER);
      const newSecret = createSecret(before.environment);
      const secrets = trx.updateTable('api_key_secret').where('api_key_id', '=', id);
      await secrets.set({ expires_at: now }).where('expires_at', '>', now).execute();
      await secrets.set({ expires_at: end }).where('expires_at', 'is', null).execute();
      await insertSecret(trx, id, newSecret, now);
      const change = {
        hint: hintOf(newSecret),
        previous_secret_expires_at: end,
        updated_at: now,
        version: before.version + 1,
      };
      const after = { ...before, ...change };
      await trx.updateTable('api_key').set(change).where('id', '=', id).execute();
      await this.record(trx, context, after, 'api_key.rotated', {
        before: { hint: before.hint },
        after: { hint: after.hint, previous_secret_expires_at: formatTimestamp(end) },
      });
      return { row: after, secret: newSecret, overlapEnd: end };
    });
    await this.announce(row);
    return { key: apiKeyOf(row, now), secret, previousSecretExpiresAt: overlapEnd };
  }

  /**
   * Ends the previous secret of a rotation at once. The current secret remains valid. If no previous secret works, only
   * notifies all nodes again.
   */
  async endPreviousSecret(id: string, context: ChangeContext, expected?: ExpectedVersions): Promise<ApiKey> {
    const now = this.deps.clock.now();
    const row = await this.db.transaction().execute(async (trx) => {
      const before = await lockApiKey(trx, this.deps.database.kind, id);
      const end = previousSecretEnd(before, now);
      if (end === null) return before;
      await this.checkVersion(trx, before, expected);
      await this.authorize(trx, context, before, before);
      const change = { previous_secret_expires_at: null, updated_at: now, version: before.version + 1 };
      const secrets = trx.updateTable('api_key_secret').where('api_key_id', '=', id);
      await secrets.set({ expires_at: now }).where('expires_at', '>', now).execute();
      await trx.updateTable('api_key').set(change).where('id', '=', id).execute();
      const after = { ...before, ...change };
      await this.record(trx, context, after, 'api_key.previous_secret_ended', {
        before: { previous_secret_expires_at: formatTimestamp(end) },
        after: { previous_secret_expires_at: null },
      });
      return after;
    });
    await this.announce(row);
    return apiKeyOf(row, now);
  }

  /**
   * Pauses the key. Its requests are refused until `resume`. Pausing a paused key only notifies all nodes again.
   * Rejects with `conflict` for a revoked key.
   */
  pause(id: string, context: ChangeContext, expected?: ExpectedVersions): Promise<ApiKey> {
    return this.setStatus(id, 'paused', 'api_key.paused', context, expected);
  }

  /**
   * Resumes a paused key. Resuming an active key only notifies all nodes again. Rejects with `conflict` for a revoked
   * key.
   */
  resume(id: string, context: ChangeContext, expected?: ExpectedVersions): Promise<ApiKey> {
    return this.setStatus(id, 'active', 'api_key.resumed', context, expected);
  }

  /** Revokes the key permanently. Revoking a revoked key only notifies all nodes again. */
  revoke(id: string, context: ChangeContext, expected?: ExpectedVersions): Promise<ApiKey> {
    return this.setStatus(id, 'revoked', 'api_key.revoked', context, expected);
  }

  /** Revokes a key whose secret was sent in clear text. Revoking a revoked key only notifies all nodes again. */
  revokeExposed(id: string, context: ChangeContext): Promise<ApiKey> {
    return this.setStatus(id, 'revoked', 'api_key.revoked', context, undefined, { reason: 'exposed' });
  }

  /**
   * Revokes a key in the transaction of another change. Call `announce` with the row after the commit.
   * @param cause reason for the audit log
   */
  revokeWithin(
    trx: Transaction<Tables>,
    id: string,
    context: ChangeContext,
    cause: AuditedFields,
  ): Promise<ApiKeyTable> {
    return this.setStatusWithin(trx, id, 'revoked', 'api_key.revoked', context, { cause });
  }

  /**
   * Notifies all nodes and the webhook workers of a committed change.
   * @param row row after the change
   */
  announce(row: ApiKeyTable): Promise<void> {
    this.events.notifyCommitted(row);
    return this.deps.bus.publish({ type: 'api_key', accountId: row.account_id, keyId: row.id });
  }

  /**
   * Deletes secrets that stopped working more than 365 days ago. Returns the number of deleted secrets. The worker role
   * runs this once a day.
   */
  async deleteDeadSecrets(): Promise<number> {
    const endedBefore = this.deps.clock.now() - DEAD_SECRET_RETENTION_MS;
    const result = await this.db.deleteFrom('api_key_secret').where('expires_at', '<', endedBefore).executeTakeFirst();
    return Number(result.numDeletedRows);
  }

  /**
   * Sets the status of a key. If the key already has the status, only notifies all nodes again, because an earlier
   * message may have been lost.
   */
  private async setStatus(
    id: string,
    status: ApiKeyTable['status'],
    action: AuditAction,
    context: ChangeContext,
    expected: ExpectedVersions,
    cause: AuditedFields = {},
  ): Promise<ApiKey> {
    const row = await this.db
      .transaction()
      .execute((trx) => this.setStatusWithin(trx, id, status, action, context, { expected, cause }));
    await this.announce(row);
    return apiKeyOf(row, this.deps.clock.now());
  }

  private async setStatusWithin(
    trx: Transaction<Tables>,
    id: string,
    status: ApiKeyTable['status'],
    action: AuditAction,
    context: ChangeContext,
    { expected, cause }: { readonly expected?: ExpectedVersions; readonly cause?: AuditedFields },
  ): Promise<ApiKeyTable> {
    const before = await lockApiKey(trx, this.deps.database.kind, id);
    if (before.status === status) return before;
    if (before.status === 'revoked') throw await this.revokedConflict(trx, before);
    await this.checkVersion(trx, before, expected);
    const now = this.deps.clock.now();
    const after: ApiKeyTable = {
      ...before,
      status,
      revoked_at: status === 'revoked' ? now : null,
      updated_at: now,
      version: before.version + 1,
    };
    await this.authorize(trx, context, before, after);
    await trx.updateTable('api_key').set(after).where('id', '=', id).execute();
    const change = { before: { status: before.status }, after: { status, ...cause } };
    await this.record(trx, context, after, action, change);
    return after;
  }

  /** Checks that the actor may make the change. Uses the locked row. */
  private async authorize(
    trx: Transaction<Tables>,
    { authorize }: ChangeContext,
    before: ApiKeyTable,
    after: ApiKeyTable,
  ): Promise<void> {
    if (authorize === undefined) return;
    const account = trx.selectFrom('account').select('plan').where('id', '=', before.account_id);
    const { plan } = await account.executeTakeFirstOrThrow();
    authorize('api_key', this.accessOf(before, plan), this.accessOf(after, plan));
  }

  private accessOf(row: ApiKeyTable, plan: string): KeyAccess {
    const { scopes, allowed_ips: allowedIps, limits } = settingsOf(row);
    return {
      isActive: row.status === 'active',
      scopes,
      allowedIps,
      expiresAt: row.expires_at,
      limits: limitsInForce(this.deps.catalogue.plan(plan), limits),
    };
  }

  private async checkVersion(trx: Transaction<Tables>, row: ApiKeyTable, expected: ExpectedVersions): Promise<void> {
    if (expected === undefined || expected.includes(row.version)) return;
    await checkVersion(trx, row, expected, await timeZoneOf(trx, row));
  }

  /** Returns the error for a change of a revoked key. Its `errors` name who revoked the key and when. */
  private async revokedConflict(trx: Transaction<Tables>, row: ApiKeyTable): Promise<Problem> {
    // A revoked key never changes again, so its last change is the revocation.
    const errors = await changesSince(trx, row, row.version - 1, await timeZoneOf(trx, row));
    return new Problem('conflict', { detail: 'The key is revoked. Create a new one.', errors });
  }

  private validate(input: Pick<UpdateApiKey, 'scopes' | 'expires_at'>): void {
    const scopes = input.scopes ?? [];
    const errors = this.deps.catalogue.unknownScopes(scopes).map((index) => ({
      pointer: `#/scopes/${index}`,
      detail: `${scopes[index] ?? ''} is not a scope of any operation`,
    }));
    const expiresAt = milliseconds(input.expires_at ?? null);
    if (expiresAt !== null && expiresAt <= this.deps.clock.now()) {
      errors.push({ pointer: '#/expires_at', detail: 'must be in the future' });
    }
    if (errors.length > 0) throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
  }

  private async record(
    trx: Transaction<Tables>,
    context: ChangeContext,
    row: ApiKeyTable,
    action: AuditAction,
    change: { readonly before: AuditedFields | null; readonly after: AuditedFields },
  ): Promise<void> {
    const target = { accountId: row.account_id, targetType: 'api_key', targetId: row.id } as const;
    await recordChange(trx, context, { ...target, action, targetVersion: row.version, ...change }, row.updated_at);
    const isExposed = change.after['reason'] === 'exposed';
    await this.events.addKeyChange(trx, row, action, context.actor, isExposed);
  }
}

function milliseconds(rfc3339: string | null): number | null {
  return rfc3339 === null ? null : Date.parse(rfc3339);
}

async function timeZoneOf(trx: Transaction<Tables>, { account_id: accountId }: ApiKeyTable): Promise<string> {
  const account = trx.selectFrom('account').select('time_zone').where('id', '=', accountId);
  return (await account.executeTakeFirst())?.time_zone ?? 'UTC';
}

function previousSecretActive(endMs: number): Problem {
  const until = new Date(endMs).toISOString();
  return new Problem('previous_secret_active', {
    detail: `The previous secret works until ${until}. Send "end_previous_secret": true to end it with this rotation.`,
  });
}

function conflict(detail: string): Problem {
  return new Problem('conflict', { detail });
}
