/**
 * Writes and lists the audit log. An entry is written in the transaction of its change, so that neither exists without
 * the other.
 */
import type { Kysely, Transaction } from 'kysely';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../stores/database/cursor.js';
import type { DatabaseKind } from '../stores/database/database-kind.js';
import { newId } from '../stores/database/ids.js';
import { insertRows } from '../stores/database/json-rows.js';
import type { AuditEntryTable, Tables } from '../stores/database/schema.js';
import type { AuthorizeChange } from './access-changes.js';
import type { AuditAction } from './audit-actions.js';
import { namesOf } from './audit-names.js';

/** ChangeContext holds the actor and the origin of a change. */
export interface ChangeContext {
  /**
   * `operator`, `system`, `nobody`, the ID of a member or account token, `portal:` with a session ID, or `provider:`
   * with the provider's name in the configuration.
   */
  readonly actor: string;
  /**
   * Name of the actor, which the audit log shows next to the ID. Undefined: the audit log looks up the current name.
   */
  readonly actorLabel?: string | undefined;
  readonly ip: string;
  readonly requestId: string;
  /**
   * Stores the response, so that a repeated request gets the same response. Undefined if the request has no
   * `Idempotency-Key`.
   */
  readonly response?: ResponseRecord | undefined;
  /**
   * Checks whether the actor may make a change. Stores call this function in the transaction of a change, before they
   * write. Throws if the actor may not make the change.
   */
  readonly authorize?: AuthorizeChange | undefined;
  /**
   * Stores the body of the response, so that a repeated request gets the same body. Stores call this function with the
   * result of a change, in the transaction of the change.
   */
  readonly storeResponse?: ((trx: Transaction<Tables>, made: unknown) => Promise<void>) | undefined;
}

/** ResponseRecord stores the response to a request in the transaction of the request's change. */
export interface ResponseRecord {
  /** Records that the change has succeeded. */
  complete(trx: Transaction<Tables>, change: AuditedChange): Promise<void>;
  /** Stores the body of the response. */
  storeBody(trx: Transaction<Tables>, body: object): Promise<void>;
}

/** AuditedFields holds the fields of an audit entry, by name. Callers must omit secrets and hashes. */
export type AuditedFields = Readonly<Record<string, unknown>>;

export const TARGET_TYPES = [
  'account',
  'api_key',
  'quota_adjustment',
  'account_token',
  'member',
  'session',
  'invitation',
  'portal_session',
  'webhook_endpoint',
  'webhook_delivery',
  'installation',
] as const;

export interface AuditedChange {
  readonly accountId: string | null;
  readonly action: AuditAction;
  readonly targetType: (typeof TARGET_TYPES)[number];
  readonly targetId: string;
  /** Version of the target after the change. Undefined if the target has no versions. */
  readonly targetVersion?: number | undefined;
  /** The changed fields before the change. Null if the target did not exist, or the action records no fields. */
  readonly before: AuditedFields | null;
  /** The changed fields after the change. Null if the target no longer exists, or the action records no fields. */
  readonly after: AuditedFields | null;
}

export interface AuditEntry extends AuditedChange {
  readonly id: string;
  readonly actor: string;
  /**
   * Name of the actor at the time of the change, or the current name if no name was recorded. Null if neither exists.
   */
  readonly actorLabel: string | null;
  /** Current name of the target, or the URL of a webhook endpoint. Null if the target has no name. */
  readonly targetName: string | null;
  readonly ip: string;
  readonly requestId: string;
  readonly createdAt: number;
  /** Time zone of the account. UTC if the change belongs to no account. */
  readonly timeZone: string;
}

/**
 * Adds an audit entry in the transaction of the change. Also completes the stored response, if the request has an
 * `Idempotency-Key`.
 */
export async function recordChange(
  trx: Transaction<Tables>,
  context: ChangeContext,
  change: AuditedChange,
  nowMs: number,
): Promise<void> {
  await trx
    .insertInto('audit_entry')
    .values(entryRow(context, change, nowMs))
    .execute();
  await context.response?.complete(trx, change);
}

/**
 * Adds the audit entries of many changes in their transaction. Unlike `recordChange`, does not complete the stored
 * response.
 */
export async function recordChanges(
  trx: Transaction<Tables>,
  kind: DatabaseKind,
  context: ChangeContext,
  changes: readonly AuditedChange[],
  nowMs: number,
): Promise<void> {
  const rows = changes.map((change) => entryRow(context, change, nowMs));
  await insertRows(trx, kind, 'audit_entry', rows);
}

function entryRow(context: ChangeContext, change: AuditedChange, nowMs: number): AuditEntryTable {
  return {
    id: newId('aud', nowMs),
    account_id: change.accountId,
    actor: context.actor,
    action: change.action,
    target_type: change.targetType,
    target_id: change.targetId,
    before: change.before === null ? null : JSON.stringify(change.before),
    after: change.after === null ? null : JSON.stringify(change.after),
    ip: context.ip,
    request_id: context.requestId,
    created_at: nowMs,
    target_version: change.targetVersion ?? null,
    actor_label: context.actorLabel ?? null,
  };
}

/** Returns the fields whose values differ, before and after the change. Returns null if all values are equal. */
export function changedFields(
  before: AuditedFields,
  after: AuditedFields,
): { readonly before: AuditedFields; readonly after: AuditedFields } | null {
  const names = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (names.length === 0) return null;
  const pick = (fields: AuditedFields) => Object.fromEntries(names.map((name) => [name, fields[name]]));
  return { before: pick(before), after: pick(after) };
}

export class AuditLog {
  constructor(private readonly db: Kysely<Tables>) {}

  /**
   * Returns a page of the entries of one account, newest first. Without `accountId`, includes all entries. Rejects with
   * `invalid_cursor` or the database's error.
   */
  async list(request: PageRequest & { readonly accountId?: string | undefined }): Promise<Page<AuditEntry>> {
    const { accountId, cursor, limit } = request;
    const list = `audit-log:${accountId ?? ''}`;
    let query = this.db
      .selectFrom('audit_entry as entry')
      .leftJoin('account', 'account.id', 'entry.account_id')
      .selectAll('entry')
      .select('account.time_zone')
      .orderBy('entry.id', 'desc')
      .limit(limit + 1);
    if (accountId !== undefined) query = query.where('entry.account_id', '=', accountId);
    if (cursor !== undefined) query = query.where('entry.id', '<', decodeCursor(list, cursor));
    const rows = await query.execute();
    const names = await namesOf(this.db, rows);
    return pageOf(list, limit, rows, (row) => entryOf(row, names));
  }
}

function entryOf(row: AuditEntryTable & { time_zone: string | null }, names: ReadonlyMap<string, string>): AuditEntry {
  return {
    id: row.id,
    accountId: row.account_id,
    actor: row.actor,
    actorLabel: row.actor_label ?? names.get(row.actor) ?? null,
    targetName: names.get(row.target_id) ?? null,
    action: row.action as AuditAction,
    targetType: row.target_type as AuditEntry['targetType'],
    targetId: row.target_id,
    before: parseFields(row.before),
    after: parseFields(row.after),
    ip: row.ip,
    requestId: row.request_id,
    createdAt: row.created_at,
    timeZone: row.time_zone ?? 'UTC',
  };
}

function parseFields(json: string | null): AuditedFields | null {
  return json === null ? null : (JSON.parse(json) as AuditedFields);
}
