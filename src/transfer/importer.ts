/**
 * Imports batches of lines. Each batch is one transaction. A line that cannot be imported gets a `LineError` as its
 * outcome, and the other lines are still imported.
 */
import type { StoreDependencies } from '../accounts/accounts.js';
import { recordChanges, type ChangeContext } from '../records/audit-log.js';
import { isUniqueViolation } from '../stores/database/database-errors.js';
import type { WebhookSecrets } from '../webhooks/signing/secret-store.js';
import { importAccounts } from './import-accounts.js';
import { importAdjustments } from './import-adjustments.js';
import { ImportBatch, LineError, type ImportLine, type OnConflict, type Outcome } from './import-batch.js';
import { importEndpoints } from './import-endpoints.js';
import { importKeys } from './import-keys.js';
import { importMembers } from './import-members.js';
import { importMonths, setLiveCounts, type LiveCounters, type MonthCounts } from './import-months.js';
import { RECORD_TYPES, type RecordType } from './record-types.js';

/** ImportOptions say how to import lines. */
export interface ImportOptions {
  readonly onConflict: OnConflict;
  /** True to check the lines without keeping any change. */
  readonly isDryRun: boolean;
}

export interface ImporterDependencies extends Pick<StoreDependencies, 'database' | 'clock' | 'bus' | 'catalogue'> {
  readonly counters: LiveCounters;
  readonly webhookSecrets: WebhookSecrets;
}

/**
 * Maximum number of attempts for a batch. An attempt fails if another request creates the same records at the same
 * time.
 */
const MAX_ATTEMPTS = 3;

/** DryRun is thrown to roll back the transaction of a dry run. */
class DryRun extends Error {}

/** Importer imports batches of records. */
export class Importer {
  constructor(private readonly deps: ImporterDependencies) {}

  /**
   * Imports a batch. Importing the same batch again changes nothing. Rejects with the error of the database if the
   * batch fails as a whole.
   * @returns the outcome of each line, in the order of the lines.
   */
  async run(
    lines: readonly ImportLine['fields'][],
    options: ImportOptions,
    context: ChangeContext,
  ): Promise<readonly Outcome[]> {
    const { database, counters, clock } = this.deps;
    const liveCounters = options.isDryRun ? undefined : counters;
    const isUpdate = options.onConflict === 'update';
    const monthLines = linesByType(lines).get('month_count') ?? [];
    // The live counters are set once for all attempts. A second call would find the counts already set, and record no
    // difference.
    const months = await setLiveCounts(database, liveCounters, monthLines, isUpdate, clock.now());
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.attempt(lines, months, options, context);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isUniqueViolation(error)) throw error;
      }
    }
  }

  private async attempt(
    lines: readonly ImportLine['fields'][],
    months: MonthCounts,
    { onConflict, isDryRun }: ImportOptions,
    context: ChangeContext,
  ): Promise<readonly Outcome[]> {
    const { database, catalogue, clock, bus, webhookSecrets } = this.deps;
    const now = clock.now();
    const byType = linesByType(lines);
    let batch: ImportBatch | undefined;
    const transaction = database.db.transaction().execute(async (trx) => {
      batch = new ImportBatch(trx, database.kind, catalogue, onConflict, now);
      for (const type of RECORD_TYPES) await importLines(batch, type, byType.get(type) ?? [], months, webhookSecrets);
      lines.forEach(({ type }, index) => {
        if ((RECORD_TYPES as readonly unknown[]).includes(type)) return;
        batch!.outcomes[index] = new LineError(`type: must be one of ${RECORD_TYPES.join(', ')}`);
      });
      await recordChanges(trx, database.kind, context, batch.changes, now);
      if (isDryRun) throw new DryRun();
    });
    await transaction.catch((error: unknown) => {
      if (!(error instanceof DryRun)) throw error;
    });
    const { outcomes = [], accountIds = [] } = batch ?? {};
    if (!isDryRun) await Promise.all([...accountIds].map((accountId) => bus.publish({ type: 'account', accountId })));
    return outcomes;
  }
}

function linesByType(lines: readonly ImportLine['fields'][]): ReadonlyMap<unknown, readonly ImportLine[]> {
  return Map.groupBy(
    lines.map((fields, index): ImportLine => ({ index, fields })),
    ({ fields }) => fields['type'],
  );
}

function importLines(
  batch: ImportBatch,
  type: RecordType,
  lines: readonly ImportLine[],
  months: MonthCounts,
  secrets: WebhookSecrets,
): Promise<void> {
  switch (type) {
    case 'account':
      return importAccounts(batch, lines);
    case 'api_key':
      return importKeys(batch, lines);
    case 'member':
      return importMembers(batch, lines);
    case 'webhook_endpoint':
      return importEndpoints(batch, lines, secrets);
    case 'quota_adjustment':
      return importAdjustments(batch, lines);
    case 'month_count':
      return importMonths(batch, lines, months);
  }
}
