/** Lists the accounts that called deprecated operations in the last seven days, for operators. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { DEPRECATED_CALLS_DAYS, DeprecatedCalls, MAX_DEPRECATED_CALLERS } from '../../admission/deprecated-calls.js';
import { Operation } from '../openapi/operation-decorator.js';
import { countField, idField, timeField } from '../openapi/fields.js';

const operation = z.string().max(200);
const reportSchema = z
  .object({
    days: countField.meta({ description: 'Number of days covered, including today.' }),
    operations: z
      .array(z.object({ operation, deprecated_at: timeField.nullable(), sunset_at: timeField.nullable() }))
      .meta({ description: 'Operations that are deprecated or removed, by earliest removal date.' }),
    callers: z
      .array(
        z.object({
          operation,
          account_id: idField('acc'),
          account_name: z.string().max(200),
          requests: countField,
          last_day: z.iso.date().max(10).meta({ description: "In the account's time zone." }),
        }),
      )
      .max(MAX_DEPRECATED_CALLERS)
      .meta({ description: 'Callers with the most requests first. Excludes requests rejected with 410.' }),
    has_more: z.boolean().meta({ description: 'Whether there are more callers than listed.' }),
  })
  .meta({ id: 'DeprecatedCalls' });

@Controller()
export class DeprecatedCallsController {
  constructor(private readonly calls: DeprecatedCalls) {}

  @Operation('getDeprecatedCalls', reportSchema)
  async get(): Promise<z.output<typeof reportSchema>> {
    const { operations, callers, hasMore } = await this.calls.read();
    const at = (ms: number | null): string | null => (ms === null ? null : formatWithOffset(ms, 'UTC'));
    return {
      days: DEPRECATED_CALLS_DAYS,
      operations: operations.map(({ operation: id, deprecatedMs, sunsetMs }) => ({
        operation: id,
        deprecated_at: at(deprecatedMs),
        sunset_at: at(sunsetMs),
      })),
      callers: callers.map(({ operation: id, accountId, accountName, requests, lastDay }) => ({
        operation: id,
        account_id: accountId,
        account_name: accountName,
        requests,
        last_day: lastDay,
      })),
      has_more: hasMore,
    };
  }
}
