/** Validates the query parameters of the customer list. Unknown and repeated parameters are rejected. */
import { z } from 'zod';
import type { Activity, CustomerStatus } from './model/customer.js';
import { ACTIVITIES, STATUSES } from './model/customer.js';
import type { FieldError } from './errors.js';
import { RequestError } from './errors.js';
import { describeIssue, toFieldErrors } from './field-errors.js';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const SEARCH_LENGTH = 100;
const EMAIL_LENGTH = 254;
const INSTANT_LENGTH = 40;
const LIMIT_MESSAGE = `must be a whole number from 1 to ${MAX_LIMIT}`;
const INSTANT_MESSAGE = 'must be a date (2026-05-01) or an RFC 3339 date-time (2026-05-01T09:30:00Z; write + as %2B)';

/** Filters of the customer list. Times are milliseconds since the Unix epoch. */
export interface CustomerFilters {
  /** Email address in lower case. */
  readonly email?: string;
  readonly activity?: Activity;
  readonly status?: CustomerStatus;
  /** Earliest creation time, inclusive. */
  readonly created_after?: number;
  /** Latest creation time, exclusive, so that adjacent ranges neither overlap nor leave a gap. */
  readonly created_before?: number;
  readonly search?: string;
}

export interface ListQuery {
  readonly limit: number;
  readonly cursor?: string;
  readonly filters: CustomerFilters;
}

/**
 * Returns a schema for nonempty text of at most `maxLength` code points. Spaces at both ends count, but are then
 * trimmed.
 */
const plainText = (maxLength: number) =>
  z
    .string()
    .refine((value) => !/[\p{Cc}\p{Cs}]/u.test(value), 'must not contain control characters')
    .refine((value) => [...value].length <= maxLength, `must be at most ${maxLength} characters long`)
    .trim()
    .min(1, 'must not be empty');

const instant = z
  .union([z.iso.date(), z.iso.datetime({ offset: true }).max(INSTANT_LENGTH)], { error: INSTANT_MESSAGE })
  .transform((value) => Date.parse(value));

const querySchema = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, LIMIT_MESSAGE)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= MAX_LIMIT, LIMIT_MESSAGE)
    .default(DEFAULT_LIMIT),
  cursor: z.string().optional(),
  email: plainText(EMAIL_LENGTH).toLowerCase().optional(),
  activity: z.enum(ACTIVITIES).optional(),
  status: z.enum(STATUSES).optional(),
  created_after: instant.optional(),
  created_before: instant.optional(),
  search: plainText(SEARCH_LENGTH).optional(),
});

/**
 * Parses the query parameters. Without `limit`, a page has 20 customers.
 * @throws RequestError `invalid_parameter` with every invalid parameter
 */
export function parseListQuery(query: Readonly<Record<string, unknown>>): ListQuery {
  const parsed = querySchema.safeParse(query, {
    error: (issue) => (Array.isArray(issue.input) ? 'must be given only once' : describeIssue(issue)),
  });
  if (!parsed.success) throw refusal(toFieldErrors(parsed.error, Object.keys(querySchema.shape)));
  const { limit, cursor, ...rest } = parsed.data;
  const filters = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => value !== undefined),
  ) as CustomerFilters;
  if (
    filters.created_after !== undefined &&
    filters.created_before !== undefined &&
    filters.created_after >= filters.created_before
  ) {
    throw refusal([{ field: 'created_before', message: 'must be later than created_after' }]);
  }
  return { limit, filters, ...(cursor === undefined ? {} : { cursor }) };
}

function refusal(faults: readonly FieldError[]): RequestError {
  const parameters = faults.map(({ field, message }) => ({ parameter: field, message }));
  const sentence = faults.map(({ field, message }) => `${field} ${message}`).join('; ');
  return new RequestError('invalid_parameter', `The query is not valid: ${sentence}.`, parameters);
}
