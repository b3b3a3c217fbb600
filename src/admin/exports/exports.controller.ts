/**
 * Exports records page by page, for operators, in the format that imports accept. `trailgate export` writes all types
 * to a file.
 */
import { Controller, Query } from '@nestjs/common';
import { z } from 'zod';
import { Exporter } from '../../transfer/exporter.js';
import type { ChangeContext } from '../../records/audit-log.js';
import { RECORD_TYPES } from '../../transfer/record-types.js';
import { Operation } from '../openapi/operation-decorator.js';
import { ChangedBy } from '../request/change-context.js';
import { cursorParameter, type ListBody } from '../request/list.js';

/** Maximum length of a cursor, in characters. */
const LONGEST_CURSOR = 500;

const exportQuerySchema = z.strictObject({
  type: z
    .enum(RECORD_TYPES, `must be one of ${RECORD_TYPES.join(', ')}`)
    .default('account')
    .meta({ description: 'Type of the records.' }),
  cursor: cursorParameter(LONGEST_CURSOR),
});

const exportListSchema = z
  .object({
    data: z
      .array(z.record(z.string().max(100), z.unknown()))
      .max(500)
      .meta({ description: 'Records without secrets: those of keys are hashes, those of webhooks are sealed.' }),
    has_more: z.boolean(),
    next_cursor: z.string().max(LONGEST_CURSOR).nullable().meta({ description: 'Null on the last page.' }),
  })
  .meta({ id: 'ExportedRecords' });

@Controller()
export class ExportsController {
  constructor(private readonly exporter: Exporter) {}

  @Operation('exportRecords', exportListSchema)
  async page(
    @Query({ schema: exportQuerySchema }) { type, cursor }: z.output<typeof exportQuerySchema>,
    @ChangedBy() context: ChangeContext,
  ): Promise<ListBody<Readonly<Record<string, unknown>>>> {
    const { data, nextCursor } = await this.exporter.page(type, cursor, context);
    return { data, has_more: nextCursor !== null, next_cursor: nextCursor };
  }
}
