/**
 * The record of every change: written in the transaction that makes the change, so
 * that neither exists without the other.
 */
import type { Kysely, Transaction } from 'kysely';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../stores/database/cursor.js';
import { newId } from '../stores/database/ids.js';
import type { AuditEntryTable, Tables } from '../stores/database/schema.js';
import type { AuthorizeChange } from './access-changes.js';
import type { AuditAction } from './audit-actions.js';
import { namesOf } from './audit-names.js';

/** Who asks for a change, and from where. */
export interface ChangeContext {
  /**
   * `operator`, `system`, `nobody`, the id of a member or of an account's token, `portal:` and the id of its session,
   * or `provider:` and its name in the configuration.
   */
  readonly actor: string;
  /** The actor by name; what is shown beside its id. */
  readonly actorLabel?: string | undefined;
  readonly ip: string;
  readonly requestId: string;
  /** Where the response may be asked for again. */
  readonly response?: ResponseRecord | undefined;
  /** Called in the transaction of a change before it is written. Throws where the actor may not make it. */
  readonly authorize?: AuthorizeChange | undefined;
  /** Called in the transaction that has made something which may be shown again. */
  readonly made?: ((trx: Transaction<Tables>, made: unknown) => Promise<void>) | undefined;
}

/** What is written of a response together with the change that it tells of. */
export interface ResponseRecord {
  complete(trx: Transaction<Tables>, change: AuditedChange): Promise<void>;
  keep(trx: Transaction<Tables>, body: object): Promise<void>;
}

/** A value that may stand in the log; the callers leave secrets and hashes out. */
export type AuditedFields = Readonly<Record<string, unknown>>;

/** What a change can be made to. */
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
] as const;

export interface AuditedChange {
  readonly accountId: string | null;
  readonly action: AuditAction;
  readonly targetType: (typeof TARGET_TYPES)[number];
  readonly targetId: string;
  /** The version that the change made of the target, where it has one. */
  readonly targetVersion?: number | undefined;
  /** Only the fields that changed; null where the target did not exist. */
  readonly before: AuditedFields | null;
  readonly after: AuditedFields | null;
}

export interface AuditEntry extends AuditedChange {
  readonly id: string;
  readonly actor: string;
  /** As they were called then; where nobody wrote that down, as they are called now. */
  readonly actorLabel: string | null;
  /** What the target is called now; null where it has no name, or none any more. */
  readonly targetName: string | null;
  readonly ip: string;
  readonly requestId: string;
  readonly createdAt: number;
  /** Of the account; UTC where the change belongs to none. */
  readonly timeZone: string;
}

/** Adds an entry to the transaction that makes the change, and says there that its request is done. */
export async function recordChange(
  trx: Transaction<Tables>,
  context: ChangeContext,
  change: AuditedChange,
  nowMs: number,
): Promise<void> {
  const row: AuditEntryTable = {
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
  await trx.insertInto('audit_entry').values(row).execute();
  await context.response?.complete(trx, change);
}

/** The fields whose values differ, before and after; null where nothing differs. */
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

  /** Newest first; of one account, or of all. */
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
    before: parsed(row.before),
    after: parsed(row.after),
    ip: row.ip,
    requestId: row.request_id,
    createdAt: row.created_at,
    timeZone: row.time_zone ?? 'UTC',
  };
}

function parsed(json: string | null): AuditedFields | null {
  return json === null ? null : (JSON.parse(json) as AuditedFields);
}
