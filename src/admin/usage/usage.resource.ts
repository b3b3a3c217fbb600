/** Defines the usage resource of the admin API, and its query parameters. */
import { z } from 'zod';
import { plainText } from '../../records/plain-text.js';
import { ADJUSTED, CELL_NAMES, UNRECORDED } from '../../quota/model/usage-cell.js';
import {
  ALL_GROUPS,
  LARGEST_USAGE_PAGE,
  LONGEST_SPAN_DAYS,
  USAGE_PARAMETER_SCHEMAS,
  USUAL_USAGE_PAGE,
} from '../../quota/usage/usage-query.js';
import { countField, idField, policyField, timeField } from '../openapi/fields.js';

/**
 * Schema of a parameter whose value `usageQuery` validates, as for the public API. The `schema` in the metadata is for
 * the OpenAPI document only.
 */
const text = z.string().max(1_000).optional();

export const usageQuerySchema = z.strictObject({
  api_key_id: plainText(100)
    .optional()
    .meta({ description: 'A key of the account. Adds the windows of the key, and limits `data` to its rows.' }),
  group_by: text.meta({
    schema: USAGE_PARAMETER_SCHEMAS.group_by,
    description: `Adds \`data\`: sums grouped by ${ALL_GROUPS.join(', ')}, several separated by commas.`,
  }),
  from: text.meta({
    schema: USAGE_PARAMETER_SCHEMAS.from,
    description:
      `First day of \`data\`, 2026-11-01; default: the first day of the billing period. At most ${LONGEST_SPAN_DAYS} ` +
      'days before `to`.',
  }),
  to: text.meta({
    schema: USAGE_PARAMETER_SCHEMAS.to,
    description: "Last day of `data`; default: today in the account's time zone.",
  }),
  limit: text.meta({
    schema: USAGE_PARAMETER_SCHEMAS.limit,
    description: `Maximum rows of \`data\`, 1 to ${LARGEST_USAGE_PAGE}; default: ${USUAL_USAGE_PAGE}.`,
  }),
  cursor: text.meta({ schema: USAGE_PARAMETER_SCHEMAS.cursor, description: '`next_cursor` of the previous page.' }),
  shadow: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description: 'If `true`, `data` counts requests that shadow limits of the plan would have rejected.',
  }),
  forecast: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description: 'If `true`, `forecasts` contains the expected usage of monthly limits.',
  }),
  format: z
    .enum(['json', 'csv'], 'must be json or csv')
    .optional()
    .meta({ description: '`csv` returns all rows as RFC 4180. `Accept: text/csv` does the same.' }),
});

export type UsageQueryFields = z.output<typeof usageQuerySchema>;

const usageRowSchema = z
  .object({
    month: z.iso.date().max(10).optional().meta({ description: 'First day of the billing period.' }),
    day: z.iso.date().max(10).optional().meta({ description: "In the account's time zone." }),
    api_key_id: idField('key').nullable().optional(),
    operation: z.string().max(200).nullable().optional().meta({ description: 'Null if no operation matched.' }),
    outcome: z.enum([...CELL_NAMES, UNRECORDED, ADJUSTED]).optional(),
    requests: z.int(),
    cost: z.int().meta({ description: 'Number of requests that count towards the limits.' }),
  })
  .meta({ id: 'UsageRow' });

export const usageSchema = z
  .object({
    account_id: idField('acc'),
    api_key_id: idField('key').nullable(),
    plan: z.string().max(100),
    approximate: z
      .boolean()
      .optional()
      .meta({
        description:
          'Present and `true` only while the counters are unavailable. The windows then show what this ' +
          'process knows, which may be too low.',
      }),
    windows: z
      .array(
        z.object({
          policy: policyField,
          limit: countField,
          used: countField,
          remaining: countField,
          resets_at: timeField,
        }),
      )
      .max(4),
    forecasts: z
      .array(
        z.object({
          policy: policyField,
          per_day: z.number().min(0).meta({ description: 'Average per day over the last seven days and today.' }),
          expected: countField.meta({ description: 'Expected usage at the end of the month.' }),
          used_up_at: timeField.nullable().meta({
            description: 'When the limit will be reached; null if not this month.',
          }),
        }),
      )
      .max(2)
      .optional()
      .meta({ description: 'With `forecast=true`: one for each monthly limit.' }),
    from: z.iso.date().max(10).optional().meta({ description: 'With `group_by`: the first day of `data`.' }),
    to: z.iso.date().max(10).optional(),
    data: z
      .array(usageRowSchema)
      .max(LARGEST_USAGE_PAGE)
      .optional()
      .meta({ description: 'With `group_by`: the sums, sorted.' }),
    has_more: z.boolean().optional(),
    next_cursor: z.string().max(1_000).nullable().optional(),
  })
  .meta({ id: 'Usage' });
