/**
 * Imports quota adjustments, which are matched by their IDs. An existing adjustment never changes. A grant for the
 * current or a later month also raises that month's limit.
 */
import { addGrant } from '../accounts/quota-adjustments.js';
import { calendarOf } from '../quota/model/month-period.js';
import { insertRows, textList } from '../stores/database/json-rows.js';
import type { QuotaAdjustmentTable } from '../stores/database/schema.js';
import { AccountRows, keysOfAccounts, textsOf } from './import-accounts.js';
import { LineError, parseLine, type ImportBatch, type ImportLine } from './import-batch.js';
import { adjustmentLine, labelOfMonth } from './import-fields.js';

/**
 * Imports the lines of type `quota_adjustment`, and sets the outcome of each line. Rejects with the database's error.
 */
export async function importAdjustments(batch: ImportBatch, lines: readonly ImportLine[]): Promise<void> {
  if (lines.length === 0) return;
  const { trx, kind, nowMs } = batch;
  const accounts = await AccountRows.read(batch, textsOf(lines, 'account_id'), []);
  const keys = await keysOfAccounts(batch, textsOf(lines, 'api_key_id'));
  const ids = textList(kind, textsOf(lines, 'id'));
  const existing = await trx.selectFrom('quota_adjustment').select('id').where('id', 'in', ids).execute();
  const known = new Set(existing.map(({ id }) => id));
  const rows: QuotaAdjustmentTable[] = [];
  for (const { index, fields } of lines) {
    await batch.settleAsync(index, async () => {
      const line = parseLine(adjustmentLine, fields);
      if (known.has(line.id)) {
        // Adjustments are never updated. The call only throws if `on_conflict` is `fail`.
        batch.shouldUpdateExisting(line.id);
        return 'skipped';
      }
      const account = accounts.ownerOf(line);
      const keyId = line.api_key_id ?? '';
      if (keyId !== '' && keys.get(keyId) !== account.id) throw new LineError(`there is no key ${keyId} in it`);
      const row: QuotaAdjustmentTable = {
        id: line.id,
        account_id: account.id,
        api_key_id: keyId,
        period: labelOfMonth(line.month),
        period_ends_at: line.period_ends_at,
        type: line.adjustment,
        amount: line.amount,
        reason: line.reason,
        actor: line.actor,
        created_at: line.created_at,
      };
      const month = calendarOf(account.time_zone, account.billing_day).at(nowMs).label;
      if (row.type === 'grant' && row.period >= month) await addGrant(trx, row);
      known.add(row.id);
      rows.push(row);
      batch.accountIds.add(account.id);
      const { type, amount, reason } = row;
      const after = { window: 'month', type, amount, api_key_id: line.api_key_id, reason };
      const target = { accountId: account.id, targetType: 'quota_adjustment', targetId: row.id } as const;
      batch.changes.push({ ...target, action: 'quota_adjustment.created', before: null, after });
      return 'imported';
    });
  }
  await insertRows(trx, kind, 'quota_adjustment', rows);
}
