/** Creates members, and records each creation in the audit log. Fails if another member has the address. */
import type { Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../records/audit-log.js';
import { isUniqueViolation } from '../stores/database/database-errors.js';
import type { Tables } from '../stores/database/schema.js';
import type { Problem } from '../platform/problems/errors.js';
import { auditedMember, insertMember, type MemberRow, type NewMember } from './member-rows.js';

/**
 * Inserts a member and adds the audit entry. Rejects with the error of `taken` if another member has the address.
 * @param contextOf returns the actor of the audit log entry, which is often the new member
 * @param taken creates the error for an address that another member has
 */
export async function addMember(
  trx: Transaction<Tables>,
  member: NewMember,
  contextOf: (memberId: string) => ChangeContext,
  taken: () => Problem,
  nowMs: number,
): Promise<MemberRow> {
  try {
    const row = await insertMember(trx, member, nowMs);
    const target = { accountId: null, targetType: 'member', targetId: row.id, targetVersion: row.version } as const;
    const change = { action: 'member.created', before: null, after: auditedMember(row) } as const;
    await recordChange(trx, contextOf(row.id), { ...target, ...change }, nowMs);
    return row;
  } catch (error) {
    if (isUniqueViolation(error)) throw taken();
    throw error;
  }
}
