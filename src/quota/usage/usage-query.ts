/**
 * Parses usage queries, which select groups, a span of days and a page. `/usage` of the public API and the admin API
 * share this code.
 */
import { invalidParameters, parametersOf, type ParameterError } from '../../platform/problems/parameter-problem.js';
import { labelOf, monthPeriodAt, type MonthCalendar } from '../model/month-period.js';

/** Columns of the usage table by group. Responses are sorted by the groups in this order. */
export const USAGE_GROUPS = {
  month: 'period',
  day: 'day',
  api_key: 'api_key_id',
  operation: 'operation',
  outcome: 'outcome',
} as const;

/** UsageGroup is a property by which usage rows can be grouped. */
export type UsageGroup = keyof typeof USAGE_GROUPS;

export const ALL_GROUPS = Object.keys(USAGE_GROUPS) as UsageGroup[];

/** Longest span of one query, in days. A leap year and a month fit. */
export const LONGEST_SPAN_DAYS = 400;
export const LARGEST_USAGE_PAGE = 1_000;
export const USUAL_USAGE_PAGE = 100;

/** Maximum length of `group_by`, in characters. A longer value repeats groups. */
const LONGEST_GROUPS = 1_000;
const GROUP = `(?:${ALL_GROUPS.join('|')})`;

const PARAMETERS = ['group_by', 'from', 'to', 'limit', 'cursor'] as const;

/** UsageParameters holds the query parameters as received. */
export type UsageParameters = Readonly<Partial<Record<(typeof PARAMETERS)[number], string | undefined>>>;

/** Returns the usage parameters in the query of a URL. Adds unknown and repeated parameters to `errors`. */
export function usageParameters(query: string, errors: ParameterError[]): UsageParameters {
  return parametersOf(query, PARAMETERS, errors);
}

/**
 * Matches dates from 1970 on, because there is no earlier usage. Also matches dates that do not exist, such as February
 * 30.
 */
const DAY = /^(?:19[7-9]\d|[2-9]\d{3})-\d\d-\d\d$/;

/** Schemas of the parameters, for the OpenAPI documents of both APIs. */
export const USAGE_PARAMETER_SCHEMAS = {
  group_by: { type: 'string', maxLength: LONGEST_GROUPS, pattern: `^${GROUP}(?:,${GROUP})*$` },
  from: { type: 'string', format: 'date', maxLength: 10, pattern: DAY.source },
  to: { type: 'string', format: 'date', maxLength: 10, pattern: DAY.source },
  limit: { type: 'integer', format: 'int32', minimum: 1, maximum: LARGEST_USAGE_PAGE, default: USUAL_USAGE_PAGE },
  cursor: { type: 'string', minLength: 1, maxLength: 1_000, pattern: '^[A-Za-z0-9_-]+$' },
} as const satisfies Record<(typeof PARAMETERS)[number], object>;

/** UsageQuery is a parsed query. Days are labels, such as 20261120. The span includes the first and the last day. */
export interface UsageQuery {
  readonly groups: readonly UsageGroup[];
  readonly from: number;
  readonly to: number;
  readonly limit: number;
  readonly cursor: string | undefined;
  /** Whether to read the requests that shadow limits would have refused, instead of usage. For operators only. */
  readonly ofShadow?: boolean;
  /** Scopes of the caller. If set, only rows of keys that have no other scopes are returned. Undefined for all rows. */
  readonly granted?: readonly string[] | undefined;
}

/**
 * Parses the parameters. Returns undefined if the query has no `group_by`, so that it requests no rows. Without `to`,
 * the span ends today in the account's calendar. Without `from`, the span begins with the month that contains its last
 * day.
 * @param found errors that were found before. The Problem contains them together with new errors.
 * @throws Problem `invalid_parameter`, which names every wrong parameter.
 */
export function usageQuery(
  parameters: UsageParameters,
  calendar: MonthCalendar,
  nowMs: number,
  found: readonly ParameterError[] = [],
): UsageQuery | undefined {
  const errors = [...found];
  if (parameters.group_by === undefined) {
    for (const name of ['from', 'to', 'limit', 'cursor'] as const) {
      if (parameters[name] !== undefined) errors.push({ parameter: name, detail: 'needs group_by' });
    }
    if (errors.length > 0) throw invalidParameters(errors);
    return undefined;
  }
  const groups = groupsOf(parameters.group_by, errors);
  const days = daysOf(parameters, calendar, nowMs, errors);
  const limit = limitOf(parameters.limit, errors);
  if (errors.length > 0) throw invalidParameters(errors);
  return { groups, from: labelOf(days.from), to: labelOf(days.to), limit, cursor: parameters.cursor };
}

/** Formats a label as a date: 20261120 becomes `2026-11-20`. */
export function dateOf(label: number): string {
  const text = String(label).padStart(8, '0');
  return `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6)}`;
}

function groupsOf(text: string, errors: ParameterError[]): UsageGroup[] {
  const names = text.split(',').map((name) => name.trim());
  if (text.length > LONGEST_GROUPS || names.some((name) => !Object.hasOwn(USAGE_GROUPS, name))) {
    errors.push({
      parameter: 'group_by',
      detail: `must be some of ${ALL_GROUPS.join(', ')}, with commas between them`,
    });
  }
  return ALL_GROUPS.filter((group) => names.includes(group));
}

function daysOf(
  { from, to }: UsageParameters,
  { timeZone, billingDay }: MonthCalendar,
  nowMs: number,
  errors: ParameterError[],
): { from: Temporal.PlainDate; to: Temporal.PlainDate } {
  const today = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(timeZone).toPlainDate();
  const last = to === undefined ? today : dayOf('to', to, errors);
  const noonMs = last.toZonedDateTime({ timeZone, plainTime: '12:00' }).epochMilliseconds;
  const first =
    from === undefined
      ? Temporal.PlainDate.from(dateOf(monthPeriodAt(noonMs, timeZone, billingDay).label))
      : dayOf('from', from, errors);
  if (errors.length === 0) {
    const days = first.until(last, { largestUnit: 'day' }).days + 1;
    if (days < 1) errors.push({ parameter: 'from', detail: `must not be after ${last.toString()}` });
    if (days > LONGEST_SPAN_DAYS) {
      errors.push({
        parameter: 'from',
        detail: `must be at most ${LONGEST_SPAN_DAYS} days before the last day: ask for shorter spans one by one`,
      });
    }
  }
  return { from: first, to: last };
}

function dayOf(parameter: 'from' | 'to', text: string, errors: ParameterError[]): Temporal.PlainDate {
  try {
    if (DAY.test(text)) return Temporal.PlainDate.from(text, { overflow: 'reject' });
  } catch {
    // The date does not exist, such as February 30.
  }
  errors.push({ parameter, detail: 'must be a date such as 2026-11-20' });
  return Temporal.PlainDate.from('2000-01-01');
}

function limitOf(text: string | undefined, errors: ParameterError[]): number {
  if (text === undefined) return USUAL_USAGE_PAGE;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LARGEST_USAGE_PAGE) {
    errors.push({ parameter: 'limit', detail: `must be a whole number from 1 to ${LARGEST_USAGE_PAGE}` });
  }
  return limit;
}
