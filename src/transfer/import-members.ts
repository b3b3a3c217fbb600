/**
 * Imports members, which are matched by their ID, then by their email address. New members have no credentials, and
 * choose a password through a link. The only update of an existing member is to add the member to accounts. Other
 * changes of permissions end sessions, so only the admin API makes them.
 */
import { emailKeyOf } from '../members/member-fields.js';
import { auditedMember, newMemberRow, type MemberRow } from '../members/member-rows.js';
import { textList } from '../stores/database/json-rows.js';
import { textsOf } from './import-accounts.js';
import { LineError, parseLine, type ImportBatch, type ImportLine, type Outcome } from './import-batch.js';
import { memberLine } from './import-fields.js';

/** Imports the lines of type `member`, and sets the outcome of each line. Rejects with the database's error. */
export async function importMembers(batch: ImportBatch, lines: readonly ImportLine[]): Promise<void> {
  for (const { index, fields } of lines) await batch.settleAsync(index, () => importMember(batch, fields));
}

async function importMember(batch: ImportBatch, fields: ImportLine['fields']): Promise<Outcome> {
  const { trx, kind, nowMs } = batch;
  const line = parseLine(memberLine, fields);
  const accountIds = line.accounts.map(({ account_id: accountId }) => accountId);
  const rows = await trx.selectFrom('account').select('id').where('id', 'in', textList(kind, accountIds)).execute();
  const missing = accountIds.find((accountId) => rows.every(({ id }) => id !== accountId));
  if (missing !== undefined) throw new LineError(`there is no account ${missing}`);
  const before = await existingMember(batch, fields, emailKeyOf(line.email));
  if (before !== undefined && before.removed_at !== null) throw new LineError(`the member ${before.id} was erased`);
  if (before !== undefined && !batch.shouldUpdateExisting(before.id)) return 'skipped';
  let member = before;
  if (member === undefined) {
    const base = newMemberRow({ ...line, isOperator: line.is_operator, password: null }, nowMs);
    member = {
      ...base,
      id: line.id ?? base.id,
      status: line.status,
      email_verified_at: line.email_verified ? nowMs : null,
      created_at: line.created_at ?? nowMs,
    };
    await trx.insertInto('member').values(member).execute();
    const target = { accountId: null, targetType: 'member', targetId: member.id, targetVersion: 1 } as const;
    batch.changes.push({ ...target, action: 'member.created', before: null, after: auditedMember(member) });
  }
  const joined = await joinAccounts(batch, member.id, line.accounts);
  return before === undefined ? 'imported' : joined ? 'updated' : 'skipped';
}

async function existingMember(
  { trx }: ImportBatch,
  fields: ImportLine['fields'],
  emailKey: string,
): Promise<MemberRow | undefined> {
  const [id = ''] = textsOf([{ index: 0, fields }], 'id');
  const rows = await trx
    .selectFrom('member')
    .selectAll()
    .where(({ eb, or }) => or([eb('id', '=', id), eb('email_key', '=', emailKey)]))
    .execute();
  return rows.find((row) => row.id === id) ?? rows[0];
}

/** Adds a member to the accounts to which it does not belong. Reports whether the member was added to an account. */
async function joinAccounts(
  { trx, nowMs, changes }: ImportBatch,
  memberId: string,
  memberships: readonly { readonly account_id: string; readonly role: 'owner' | 'admin' | 'viewer' }[],
): Promise<boolean> {
  const before = changes.length;
  for (const { account_id: accountId, role } of memberships) {
    const times = { version: 1, created_at: nowMs, updated_at: nowMs };
    const added = await trx
      .insertInto('account_member')
      .values({ account_id: accountId, member_id: memberId, role, ...times })
      .onConflict((conflict) => conflict.columns(['account_id', 'member_id']).doNothing())
      .returning('member_id')
      .executeTakeFirst();
    if (added === undefined) continue;
    const target = { accountId, targetType: 'member', targetId: memberId, targetVersion: 1 } as const;
    changes.push({ ...target, action: 'member.joined', before: null, after: { role } });
  }
  return changes.length > before;
}
