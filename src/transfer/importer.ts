/** Imports batches of lines. A batch is one transaction; lines that cannot be imported are left out with a reason. */
import type { StoreDependencies } from '../accounts/accounts.js';
import { recordChanges, type ChangeContext } from '../records/audit-log.js';
import { isUniqueViolation } from '../stores/database/database-errors.js';
import { importAccounts } from './import-accounts.js';
import { ImportBatch, LineError, type ImportLine, type OnConflict, type Outcome } from './import-batch.js';
import { importKeys } from './import-keys.js';

/** How to import lines. */
export interface ImportOptions {
  readonly onConflict: OnConflict;
  /** Whether nothing is kept. */
  readonly isDryRun: boolean;
}

/** Imports lines of a type. The order is that in which records refer to each other. */
const IMPORTS = {
  account: importAccounts,
  api_key: importKeys,
} as const satisfies Readonly<Record<string, (batch: ImportBatch, lines: readonly ImportLine[]) => Promise<void>>>;

/** How often a batch is tried, if someone else creates the same records at the same time. */
const MOST_ATTEMPTS = 3;

/** DryRun rolls a transaction back. */
class DryRun extends Error {}

/** Importer rejects with the database error if a batch fails as a whole. */
export class Importer {
  constructor(private readonly deps: Pick<StoreDependencies, 'database' | 'clock' | 'bus' | 'catalogue'>) {}

  /** Imports a batch. Returns the outcome of each line, in their order. Repeating it changes nothing. */
  async run(
    lines: readonly ImportLine['fields'][],
    options: ImportOptions,
    context: ChangeContext,
  ): Promise<readonly Outcome[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.attempt(lines, options, context);
      } catch (error) {
        if (attempt === MOST_ATTEMPTS || !isUniqueViolation(error)) throw error;
      }
    }
  }

  private async attempt(
    lines: readonly ImportLine['fields'][],
    { onConflict, isDryRun }: ImportOptions,
    context: ChangeContext,
  ): Promise<readonly Outcome[]> {
    const { database, catalogue, clock, bus } = this.deps;
    const now = clock.now();
    let batch: ImportBatch | undefined;
    const transaction = database.db.transaction().execute(async (trx) => {
      batch = new ImportBatch(trx, database.kind, catalogue, onConflict, now);
      const byType = Map.groupBy(
        lines.map((fields, index): ImportLine => ({ index, fields })),
        ({ fields }) => fields['type'],
      );
      for (const [type, importLines] of Object.entries(IMPORTS)) {
        await importLines(batch, byType.get(type) ?? []);
        byType.delete(type);
      }
      const words = `type: must be one of ${Object.keys(IMPORTS).join(', ')}`;
      for (const { index } of [...byType.values()].flat()) batch.outcomes[index] = new LineError(words);
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
