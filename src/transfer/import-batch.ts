/** Holds the state of one batch of an import: its transaction, and the outcome of each line. */
import type { Transaction } from 'kysely';
import type { z } from 'zod';
import type { Catalogue } from '../accounts/catalogue.js';
import type { AuditedChange } from '../records/audit-log.js';
import type { DatabaseKind } from '../stores/database/database-kind.js';
import type { Tables } from '../stores/database/schema.js';

/** Maximum number of lines of a batch. */
export const MAX_LINES = 500;

/** Choices for a line whose record already exists. */
export const ON_CONFLICT = ['skip', 'update', 'fail'] as const;
export type OnConflict = (typeof ON_CONFLICT)[number];

/** Outcome is the result of importing a line. A `LineError` says why the line was not imported. */
export type Outcome = 'imported' | 'updated' | 'skipped' | LineError;

/** LineError says why a line was not imported. Other lines of the batch are still imported. */
export class LineError extends Error {
  override readonly name = 'LineError';
}

/** ImportLine has the fields of a line, and its index in the batch. */
export interface ImportLine {
  readonly index: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

export class ImportBatch {
  readonly outcomes: Outcome[] = [];
  /** Changes to record in the audit log. */
  readonly changes: AuditedChange[] = [];
  /** IDs of accounts with changes, which nodes must read again. */
  readonly accountIds = new Set<string>();

  constructor(
    readonly trx: Transaction<Tables>,
    readonly kind: DatabaseKind,
    readonly catalogue: Catalogue,
    readonly onConflict: OnConflict,
    readonly nowMs: number,
  ) {}

  /** Runs the import of a line and records the outcome. Rethrows errors other than `LineError`. */
  settle(index: number, importLine: () => Outcome): void {
    try {
      this.outcomes[index] = importLine();
    } catch (error) {
      if (!(error instanceof LineError)) throw error;
      this.outcomes[index] = error;
    }
  }

  /**
   * Runs the import of a line that itself reads or writes rows, and records the outcome. Rejects with errors other than
   * `LineError`.
   */
  async settleAsync(index: number, importLine: () => Promise<Outcome>): Promise<void> {
    try {
      this.outcomes[index] = await importLine();
    } catch (error) {
      if (!(error instanceof LineError)) throw error;
      this.outcomes[index] = error;
    }
  }

  /**
   * Reports whether the import must update an existing record. Throws `LineError` if the option `on_conflict` is
   * `fail`.
   * @param id name of the record for the error
   */
  shouldUpdateExisting(id: string): boolean {
    if (this.onConflict === 'fail') throw new LineError(`exists already as ${id}`);
    return this.onConflict === 'update';
  }
}

/** Parses the fields of a line. Throws `LineError` with the first problem. */
export function parseLine<Schema extends z.ZodType>(schema: Schema, fields: unknown): z.output<Schema> {
  const { data, error } = schema.safeParse(fields);
  if (error === undefined) return data as z.output<Schema>;
  const [issue] = error.issues;
  const path = issue?.path.join('/') ?? '';
  throw new LineError(`${path === '' ? '' : `${path}: `}${issue?.message ?? 'is not valid'}`);
}
