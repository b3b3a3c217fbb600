/**
 * Versions of what several people may change at once. A change says which version it was made on; where that is not the
 * one in force, whoever asks is told what has changed meanwhile, by whom and when.
 */
import type { Transaction } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import { formatWithOffset } from '../platform/rfc3339.js';
import { Problem, type FieldError } from '../platform/problems/errors.js';

/** Versions that a change may be made on; undefined: any. */
export type ExpectedVersions = readonly number[] | undefined;

/** What the audit log is asked for; who is further behind is told of these. */
const MOST_ENTRIES = 100;

/** The row that a change is made on, held until the transaction ends. */
export interface VersionedRow {
  readonly id: string;
  /** The account whose entries tell of it, null for entries of none; undefined: whichever name it. */
  readonly accountId?: string | null;
  readonly version: number;
}

/**
 * Throws `precondition_failed` where the row is of another version than the change was made on.
 * @param timeZone of the account, for the times that are told.
 */
export async function checkVersion(
  trx: Transaction<Tables>,
  row: VersionedRow,
  expected: ExpectedVersions,
  timeZone: string,
): Promise<void> {
  if (expected === undefined || expected.includes(row.version)) return;
  const errors = await changesSince(trx, row, Math.max(0, ...expected), timeZone);
  const detail =
    errors.length === 0
      ? 'This is not the version in force. Read it again, and repeat the change on the new state.'
      : 'It was changed meanwhile; `errors` says what. Read it again, and repeat the change on the new state.';
  throw new Problem('precondition_failed', { detail, errors });
}

/** Each field that was changed after a version, with who changed it last. */
export async function changesSince(
  trx: Transaction<Tables>,
  { id, accountId }: VersionedRow,
  version: number,
  timeZone: string,
): Promise<FieldError[]> {
  let since = trx
    .selectFrom('audit_entry')
    .select(['actor', 'actor_label', 'after', 'created_at'])
    .where('target_id', '=', id)
    .where('target_version', '>', version);
  // A member has a version of their own, and one in each account.
  if (accountId !== undefined) since = since.where('account_id', accountId === null ? 'is' : '=', accountId);
  const entries = await since.orderBy('target_version', 'desc').limit(MOST_ENTRIES).execute();
  const changes = new Map<string, FieldError>();
  for (const { actor, actor_label: label, after, created_at: atMs } of entries) {
    const [by, at] = [label ?? actor, formatWithOffset(atMs, timeZone)];
    for (const field of Object.keys(after === null ? {} : (JSON.parse(after) as object))) {
      if (changes.has(field)) continue;
      const detail = `was changed by ${by} at ${at}`;
      changes.set(field, { pointer: `#/${field}`, detail, changed_by: by, changed_at: at });
    }
  }
  return [...changes.values()];
}
