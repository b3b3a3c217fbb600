/**
 * Imports records in batches, for operators. `trailgate import` sends the lines of a file in batches. The response has
 * an outcome for each record, so an invalid record does not fail the batch.
 */
import { Body, Controller } from '@nestjs/common';
import { z } from 'zod';
import type { ChangeContext } from '../../records/audit-log.js';
import { LineError, MAX_LINES, ON_CONFLICT, type Outcome } from '../../transfer/import-batch.js';
import { Importer } from '../../transfer/importer.js';
import { RECORD_TYPES } from '../../transfer/record-types.js';
import { Operation } from '../openapi/operation-decorator.js';
import { API_PREFIX, OPERATIONS } from '../openapi/operations.js';
import { ChangedBy } from '../request/change-context.js';

/** Path of the import operation. Its maximum body size is `MAX_IMPORT_BYTES`. */
export const IMPORTS_PATH = API_PREFIX + OPERATIONS.importRecords.path;
/** Maximum size of the request body of a batch, in bytes. */
export const MAX_IMPORT_BYTES = 1_024 * 1_024;

/** Maximum length of a reason, in characters. */
const LONGEST_REASON = 1_000;

const importSchema = z
  .strictObject({
    records: z
      .array(z.record(z.string().max(100), z.unknown()))
      .min(1, 'must hold a record')
      .max(MAX_LINES, `must hold at most ${MAX_LINES} records`)
      .meta({
        description:
          `Each has a \`type\` (${RECORD_TYPES.join(', ')}) and the fields of that resource. ` +
          'Keys name their account by ' +
          '`account_id` or `account_external_id`, and have a `secret` or its SHA-256 in hex as `secret_sha256`.',
      }),
    on_conflict: z
      .enum(ON_CONFLICT, `must be one of ${ON_CONFLICT.join(', ')}`)
      .default('skip')
      .meta({
        description: 'What happens if a record exists already. Records are matched by `id`, then by `external_id`.',
      }),
    dry_run: z.boolean().default(false).meta({ description: 'Checks everything, and keeps nothing.' }),
  })
  .meta({ id: 'ImportRecords' });

const importedSchema = z.object({
  outcome: z.enum(['imported', 'updated', 'skipped', 'failed']),
  reason: z.string().max(LONGEST_REASON).nullable().meta({ description: 'Why it was not imported; null if it was.' }),
});

const importResultSchema = z
  .object({ data: z.array(importedSchema).max(MAX_LINES).meta({ description: 'In the order of `records`.' }) })
  .meta({ id: 'ImportResult' });

@Controller()
export class ImportsController {
  constructor(private readonly importer: Importer) {}

  @Operation('importRecords', importResultSchema)
  async run(
    @Body({ schema: importSchema }) {
      records,
      on_conflict: onConflict,
      dry_run: isDryRun,
    }: z.output<typeof importSchema>,
    @ChangedBy() context: ChangeContext,
  ): Promise<z.output<typeof importResultSchema>> {
    const outcomes = await this.importer.run(records, { onConflict, isDryRun }, context);
    return { data: outcomes.map(resultOf) };
  }
}

/** Returns the result for one record. Only a failed record has a reason. */
function resultOf(outcome: Outcome): z.output<typeof importedSchema> {
  if (!(outcome instanceof LineError)) return { outcome, reason: null };
  return { outcome: 'failed', reason: outcome.message.slice(0, LONGEST_REASON) };
}
