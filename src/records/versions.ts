/**
 * Checks versions of resources, for optimistic concurrency control. A change names the version that the change is based
 * on. If that version is not current, the error lists the fields that changed since, with actor and time.
 */
import type { Transaction } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import { formatWithOffset } from '../platform/rfc3339.js';
import { Problem, type FieldError } from '../platform/problems/errors.js';

/** ExpectedVersions lists the versions that a change may be based on. Undefined: any version. */
export type ExpectedVersions = readonly number[] | undefined;

/** Maximum number of audit entries that an error reports on. Older changes are not reported. */
const MAX_ENTRIES = 100;

/** VersionedRow is the row to change, which the caller has locked until the transaction ends. */
export interface VersionedRow {
  readonly id: string;
  /**
   * Reports only audit entries of this account. Null: only entries without an account. Undefined: entries of any
   * account.
   */
  readonly accountId?: string | null;
  readonly version: number;
}

/**
 * Checks that the row has one of the expected versions.
 * @param timeZone time zone of the account, for times in the error
 * @throws Problem `precondition_failed` if the row has another version
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
      ? 'The resource has changed since this version. Read it again, and repeat your change on the new ' + 'version.'
      : 'The resource has changed since this version; `errors` names the changes. Read it again, and ' +
        'repeat your change on the new version.';
  throw new Problem('precondition_failed', { detail, errors });
}

/** Returns each field that changed after a version, with the actor and time of its last change. */
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
  // A member has one version, and each membership of the member has another.
  if (accountId !== undefined) since = since.where('account_id', accountId === null ? 'is' : '=', accountId);
  const entries = await since.orderBy('target_version', 'desc').limit(MAX_ENTRIES).execute();
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
