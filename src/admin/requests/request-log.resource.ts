/** Defines the request log resources of the admin API, and the query parameters of the list. */
import { z } from 'zod';
import { plainText } from '../../records/plain-text.js';
import { formatMillisWithOffset } from '../../platform/rfc3339.js';
import type { ErrorPages } from '../../platform/problems/error-pages.js';
import { ERRORS, type ErrorCode } from '../../platform/problems/errors.js';
import { statusRange } from '../../request-logs/request-log-query.js';
import { REQUEST_LOG_SOURCES } from '../../request-logs/request-log-row.js';
import type { LoggedRequest } from '../../request-logs/request-log-reader.js';
import { explanationSchema } from '../explain/explanation.resource.js';
import { countField, idField, timeField } from '../openapi/fields.js';
import { cursorParameter, pageQuerySchema } from '../request/list.js';

const INSTANT_MESSAGE = 'must be an instant such as 2026-11-22T10:00:00Z';
const STATUS_MESSAGE = 'must be a status such as 403, a class such as 4xx, or error';
/** Maximum length of a cursor, in characters. With `order=asc`, a cursor has a position for each writing process. */
const LONGEST_CURSOR = 8_000;
const LARGEST_PAGE = 100;

const instant = z.iso.datetime({ offset: true, error: INSTANT_MESSAGE }).max(40, INSTANT_MESSAGE);

export const requestsQuerySchema = pageQuerySchema.extend({
  from: instant
    .optional()
    .meta({ description: 'Only requests that ended at this time or later; default: all stored requests.' }),
  to: instant.optional().meta({ description: 'Only requests that ended at this time or earlier.' }),
  api_key_id: plainText(100).optional().meta({ description: 'Filters by key.' }),
  operation: plainText(200).optional().meta({ description: 'Filters by operation id.' }),
  status: z
    .string()
    .refine((text) => statusRange(text) !== undefined, STATUS_MESSAGE)
    .optional()
    .meta({
      description: 'Filters by status, `403`, or class, `4xx`; `error` for 400 and above.',
      schema: { type: 'string', maxLength: 5, pattern: '^(?:[1-5]xx|[1-5][0-9][0-9]|error)$' },
    }),
  code: plainText(100).optional().meta({ description: 'Filters by error code.' }),
  source: z
    .enum(REQUEST_LOG_SOURCES, 'must be rest or mcp')
    .optional()
    .meta({ description: 'Filters by protocol: the API itself, or the Model Context Protocol.' }),
  request_id: plainText(128).optional().meta({ description: 'Filters by `X-Request-Id`.' }),
  order: z
    .enum(['desc', 'asc'], 'must be desc or asc')
    .default('desc')
    .meta({ description: '`asc`: oldest first, to follow new requests: `next_cursor` is then never null.' }),
  cursor: cursorParameter(LONGEST_CURSOR),
});

export type RequestsQuery = z.output<typeof requestsQuerySchema>;

const entry = z.object({
  id: z
    .string()
    .max(40)
    .meta({ description: 'Id of this row. Clients can send the same `X-Request-Id` several times.' }),
  request_id: z.string().max(128),
  at: timeField.meta({ description: "When the response was sent, in the account's time zone." }),
  api_key_id: idField('key'),
  api_key_name: z.string().max(200).nullable().meta({ description: 'Current name.' }),
  operation: z.string().max(200).nullable().meta({ description: 'Null for requests that the gateway answers itself.' }),
  method: z.string().max(32),
  route: z
    .string()
    .max(2_048)
    .nullable()
    .meta({ description: 'The declared path of the operation. The raw path is not stored.' }),
  status: z
    .int()
    .min(100)
    .max(599)
    .meta({ description: '499: the client disconnected before the response was complete.' }),
  code: z.string().max(100).nullable().meta({ description: 'Error code; null without an error.' }),
  duration_ms: z.number().min(0),
  bytes_in: countField.meta({ description: 'Bytes of the request body that were read.' }),
  bytes_out: countField.meta({ description: 'Bytes of the response body.' }),
  ip: z.string().max(45),
  source: z
    .enum(REQUEST_LOG_SOURCES)
    .meta({ description: 'Protocol of the request: the API itself (`rest`), or the Model Context Protocol (`mcp`).' }),
  tool: z.string().max(40).nullable().meta({ description: 'Tool that an assistant called; null without one.' }),
  weight: z
    .int()
    .min(1)
    .meta({ description: 'Number of requests that this row represents: more than 1 if the log was sampled.' }),
});

export const requestLogEntrySchema = entry.meta({ id: 'RequestLogEntry' });

export const requestLogListSchema = z
  .object({
    data: z.array(requestLogEntrySchema).max(LARGEST_PAGE),
    has_more: z.boolean().meta({
      description: 'Whether there are more rows. A page can be empty, because it scans at most 10,000 rows.',
    }),
    next_cursor: z.string().max(LONGEST_CURSOR).nullable(),
    kept_since: timeField.nullable().meta({
      description: 'Start of the stored log (`usage.requestLogRetention`); null if the log is off.',
    }),
  })
  .meta({ id: 'RequestLogList' });

export type RequestLogList = z.output<typeof requestLogListSchema>;

export const requestDetailSchema = entry
  .extend({
    error: z
      .object({ title: z.string().max(200), type: z.string().max(2_048) })
      .nullable()
      .meta({ description: 'Meaning of the code, and the page with what to do; null without an error.' }),
    explanation: explanationSchema.nullable().meta({
      description: 'Result that the same request would have now; null if the operation no longer exists.',
    }),
  })
  .meta({ id: 'RequestDetail' });

export type RequestDetail = z.output<typeof requestDetailSchema>;
type Entry = z.output<typeof requestLogEntrySchema>;

/** Returns the API resource of a row of the request log. Times have the offset of the account's time zone. */
export function requestLogEntry(row: LoggedRequest, timeZone: string): Entry {
  return {
    id: `${row.node}-${row.seq.toString(36)}`,
    request_id: row.request_id,
    at: formatMillisWithOffset(row.at, timeZone),
    api_key_id: row.api_key_id,
    api_key_name: row.api_key_name,
    operation: orNull(row.operation),
    method: row.method,
    route: orNull(row.route),
    status: row.status,
    code: orNull(row.code),
    duration_ms: row.duration_us / 1_000,
    bytes_in: row.bytes_in,
    bytes_out: row.bytes_out,
    ip: row.ip,
    source: row.source === 'mcp' ? 'mcp' : 'rest',
    tool: orNull(row.tool),
    weight: row.weight,
  };
}

/** Returns the title and page of an error code. Null for an empty or unknown code. */
export function errorOf(code: string, pages: ErrorPages): RequestDetail['error'] {
  if (!Object.hasOwn(ERRORS, code)) return null;
  const known = code as ErrorCode;
  return { title: ERRORS[known].title, type: pages.typeOf(known) };
}

function orNull(text: string): string | null {
  return text === '' ? null : text;
}
