/** Request log resources of the admin API and their query. */
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

const INSTANT = 'must be an instant such as 2026-11-22T10:00:00Z';
const STATUS_WORDS = 'must be a status such as 403, a class such as 4xx, or error';
/** A cursor that follows the log has a position for each writing process. */
const LONGEST_CURSOR = 8_000;
const LARGEST_PAGE = 100;

const instant = z.iso.datetime({ offset: true, error: INSTANT }).max(40, INSTANT);

export const requestsQuerySchema = pageQuerySchema.extend({
  from: instant.optional().meta({ description: 'No request that ended earlier; without it all that are kept.' }),
  to: instant.optional().meta({ description: 'No request that ended later.' }),
  api_key_id: plainText(100).optional().meta({ description: 'Only requests with this key.' }),
  operation: plainText(200).optional().meta({ description: 'Only requests of the operation with this id.' }),
  status: z
    .string()
    .refine((text) => statusRange(text) !== undefined, STATUS_WORDS)
    .optional()
    .meta({
      description: 'Only responses with this status, `403`, or of this class, `4xx`; or `error` for 400 and above.',
      schema: { type: 'string', maxLength: 5, pattern: '^(?:[1-5]xx|[1-5][0-9][0-9]|error)$' },
    }),
  code: plainText(100).optional().meta({ description: 'Only responses with this error code.' }),
  source: z
    .enum(REQUEST_LOG_SOURCES, 'must be rest or mcp')
    .optional()
    .meta({ description: 'Only requests that came in by this: the API itself, or the Model Context Protocol.' }),
  request_id: plainText(128).optional().meta({ description: 'Only requests with this `X-Request-Id`.' }),
  order: z
    .enum(['desc', 'asc'], 'must be desc or asc')
    .default('desc')
    .meta({ description: '`asc`: oldest first, to follow what comes: `next_cursor` is never null then.' }),
  cursor: cursorParameter(LONGEST_CURSOR),
});

export type RequestsQuery = z.output<typeof requestsQuerySchema>;

const entry = z.object({
  id: z.string().max(40).meta({ description: 'Of this row; a client may send one `X-Request-Id` several times.' }),
  request_id: z.string().max(128),
  at: timeField.meta({ description: 'When the response had been sent, in the time zone of the account.' }),
  api_key_id: idField('key'),
  api_key_name: z.string().max(200).nullable().meta({ description: 'As it is called now.' }),
  operation: z.string().max(200).nullable().meta({ description: 'Null for what the gateway answers itself.' }),
  method: z.string().max(32),
  route: z
    .string()
    .max(2_048)
    .nullable()
    .meta({ description: 'The path that the operation was declared with; the path that was asked for is not kept.' }),
  status: z.int().min(100).max(599).meta({ description: '499: the client left before it had its response.' }),
  code: z.string().max(100).nullable().meta({ description: 'Of the error; null where there was none.' }),
  duration_ms: z.number().min(0),
  bytes_in: countField.meta({ description: 'Of the body of the request, as far as it was read.' }),
  bytes_out: countField.meta({ description: 'Of the body of the response.' }),
  ip: z.string().max(45),
  source: z
    .enum(REQUEST_LOG_SOURCES)
    .meta({ description: 'By what it came in: the API itself (`rest`), or the Model Context Protocol (`mcp`).' }),
  tool: z
    .string()
    .max(40)
    .nullable()
    .meta({ description: 'The tool that an assistant called; null where there is none.' }),
  weight: z
    .int()
    .min(1)
    .meta({ description: 'How many requests it stands for: 1, or more where there were too many to keep them all.' }),
});

export const requestLogEntrySchema = entry.meta({ id: 'RequestLogEntry' });

export const requestLogListSchema = z
  .object({
    data: z.array(requestLogEntrySchema).max(LARGEST_PAGE),
    has_more: z.boolean().meta({
      description: 'Whether there is more now. A page can be empty all the same: it looks through 10,000 rows at most.',
    }),
    next_cursor: z.string().max(LONGEST_CURSOR).nullable(),
    kept_since: timeField.nullable().meta({
      description: 'Since when requests are kept (`usage.requestLogRetention`); null where none are.',
    }),
  })
  .meta({ id: 'RequestLogList' });

export type RequestLogList = z.output<typeof requestLogListSchema>;

export const requestDetailSchema = entry
  .extend({
    error: z
      .object({ title: z.string().max(200), type: z.string().max(2_048) })
      .nullable()
      .meta({ description: 'What the code means, and the page that says what to do; null where there was no error.' }),
    explanation: explanationSchema.nullable().meta({
      description:
        'What a request of this key and operation from this address would be answered now; null where the ' +
        'operation is not there any more.',
    }),
  })
  .meta({ id: 'RequestDetail' });

export type RequestDetail = z.output<typeof requestDetailSchema>;
type Entry = z.output<typeof requestLogEntrySchema>;

/** Returns an entry of the request log. */
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

/** Returns the meaning of an error code; null for an unknown code. */
export function errorOf(code: string, pages: ErrorPages): RequestDetail['error'] {
  if (!Object.hasOwn(ERRORS, code)) return null;
  const known = code as ErrorCode;
  return { title: ERRORS[known].title, type: pages.typeOf(known) };
}

function orNull(text: string): string | null {
  return text === '' ? null : text;
}
