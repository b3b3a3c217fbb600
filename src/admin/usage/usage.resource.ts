/** Usage resources of the admin API and their query. */
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

/** `usageQuery` checks the values, as on the public API. `schema` only describes them. */
const text = z.string().max(1_000).optional();

export const usageQuerySchema = z.strictObject({
  api_key_id: plainText(100)
    .optional()
    .meta({ description: 'A key of the account; adds its own windows, and only its rows are in `data`.' }),
  group_by: text.meta({
    schema: USAGE_PARAMETER_SCHEMAS.group_by,
    description: `Adds \`data\`, sums by some of ${ALL_GROUPS.join(', ')}, with commas between them.`,
  }),
  from: text.meta({
    schema: USAGE_PARAMETER_SCHEMAS.from,
    description:
      `First day of \`data\`, 2026-11-01; without it the first day of the period. At most ${LONGEST_SPAN_DAYS} ` +
      'days before `to`.',
  }),
  to: text.meta({
    schema: USAGE_PARAMETER_SCHEMAS.to,
    description: 'Last day of `data`; without it today, in the time zone of the account.',
  }),
  limit: text.meta({
    schema: USAGE_PARAMETER_SCHEMAS.limit,
    description: `Most rows of \`data\`, 1 to ${LARGEST_USAGE_PAGE}; ${USUAL_USAGE_PAGE} unless said.`,
  }),
  cursor: text.meta({ schema: USAGE_PARAMETER_SCHEMAS.cursor, description: '`next_cursor` of the page before.' }),
  shadow: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description: 'With `true`, `data` counts the requests that shadow limits of the plan would have refused.',
  }),
  forecast: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description: 'With `true`, `forecasts` says where the limits of the month are heading.',
  }),
  format: z
    .enum(['json', 'csv'], 'must be json or csv')
    .optional()
    .meta({ description: '`csv` answers with all rows as RFC 4180; so does `Accept: text/csv`.' }),
});

export type UsageQueryFields = z.output<typeof usageQuerySchema>;

const usageRowSchema = z
  .object({
    month: z.iso
      .date()
      .max(10)
      .optional()
      .meta({ description: 'First day of the billing period that it was counted in.' }),
    day: z.iso.date().max(10).optional().meta({ description: 'In the time zone of the account.' }),
    api_key_id: idField('key').nullable().optional(),
    operation: z.string().max(200).nullable().optional().meta({ description: 'Null where no operation is known.' }),
    outcome: z.enum([...CELL_NAMES, UNRECORDED, ADJUSTED]).optional(),
    requests: z.int(),
    cost: z.int().meta({ description: 'What they count as in the limits.' }),
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
          'There, and `true`, only while the counters cannot be asked: the windows then say what this process ' +
          'knows, which may be less than was used.',
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
          per_day: z.number().min(0).meta({ description: 'What a day has cost, of the last seven and of today.' }),
          expected: countField.meta({ description: 'What will have been used at this pace when the month ends.' }),
          used_up_at: timeField.nullable().meta({
            description: 'When the limit is reached at this pace; null where the month ends before.',
          }),
        }),
      )
      .max(2)
      .optional()
      .meta({ description: 'With `forecast=true`: one for each limit of a month.' }),
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
