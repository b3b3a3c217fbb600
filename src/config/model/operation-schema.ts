/** Defines the schemas of `operations` entries and of life cycle settings in `gateway.yaml`. */
import { z } from 'zod';
import { operationTool } from './mcp-schema.js';
import { IDEMPOTENCY_MODES } from './service-schema.js';
import { DATE_MESSAGE, INSTANT_MESSAGE, keyRetention, match, pointer, scope } from './values.js';

/** Message for an invalid operation ID, as a phrase that follows the name of the setting. */
export const ID_MESSAGE = 'must have 1 to 200 characters, none of them a control character';
/** Matches operation IDs, to which metrics, usage and API keys refer. */
export const ID_PATTERN = /^[^\p{Cc}]{1,200}$/u;

const date = z
  .union([z.iso.date(DATE_MESSAGE), z.iso.datetime({ offset: true, error: DATE_MESSAGE })], DATE_MESSAGE)
  .nullable();
const brownout = z
  .strictObject({
    from: z.iso.datetime({ offset: true, error: INSTANT_MESSAGE }).describe('First instant, RFC 3339.'),
    to: z.iso.datetime({ offset: true, error: INSTANT_MESSAGE }).describe('First instant after it.'),
  })
  .describe('A brownout: in this span it answers as after the sunset, so that remaining callers notice.');

/** Schemas of the life cycle settings, which APIs and operations share. */
export const lifeCycle = {
  deprecation: date.default(null).describe('Deprecation date (RFC 9745).'),
  sunset: date.default(null).describe('Date from which it answers 410 (RFC 8594).'),
  successor: z
    .string()
    .regex(/^(https?:\/\/|\/)[\x21-\x7e]*$/, 'must be a URL, or a path of this API such as /api/v2/customers')
    .optional()
    .describe('Successor: `Link` with rel="successor-version" (RFC 5829).'),
  brownouts: z.array(brownout).default([]).describe('Brownouts: rehearsals of the sunset.'),
};

const operationFields = z.strictObject({
  match: match.describe('Method and path template, relative to the base path of its API.'),
  api: z.string().optional().describe('Name of its API in `apis`, if it is not that of `service` or the first.'),
  service: z.string().optional().describe('The service, if no OpenAPI document describes the operation.'),
  id: z.string().regex(ID_PATTERN, ID_MESSAGE).optional().describe('operationId, if no OpenAPI document has one.'),
  scopes: z.array(scope).optional().describe('All of these are required. `[]` allows any valid key.'),
  cost: z.int().min(0).max(1_000_000).optional().describe('How many requests one call counts as; 1 by default.'),
  websocket: z.boolean().optional().describe('Whether a GET can become a WebSocket; the handshake counts as one call.'),
  encodedSlashes: z
    .enum(['refuse', 'pass'])
    .default('refuse')
    .describe(
      'Handling of `%2F` in a path parameter. Use `pass` only if the backend splits paths before it ' + 'decodes.',
    ),
  emits: z
    .string()
    .optional()
    .describe('Event type, one of `events`, of 2xx responses with a JSON object, which is the data.'),
  emitsResource: pointer.optional().describe('Subject of the event in that object, such as `/id`.'),
  idempotency: z
    .enum(IDEMPOTENCY_MODES)
    .optional()
    .describe("Like the service's, for this operation; for POST and PATCH."),
  idempotencyRetention: keyRetention.optional().describe("Like the service's, for this operation."),
  mcp: operationTool
    .optional()
    .describe(
      'Whether AI assistants can call it as a tool: true, false, or a map of `name`, `title`, ' +
        '`description`, `hide`, `fixed`, `readOnly`, `destructive`, `idempotent` and `response`.',
    ),
  ...lifeCycle,
});

/** Validates an entry of `operations`. */
export const operationSchema = operationFields
  .refine(({ match: matched, websocket }) => websocket !== true || matched.startsWith('GET '), {
    path: ['websocket'],
    error: 'can be true of a GET only: a WebSocket begins with one',
  })
  .refine(({ match: matched, encodedSlashes }) => encodedSlashes === 'refuse' || matched.includes('{'), {
    path: ['encodedSlashes'],
    error: 'can be `pass` only of a path with a parameter',
  })
  .refine(({ match: matched, emits }) => emits === undefined || /^(POST|PUT|PATCH|DELETE) /.test(matched), {
    path: ['emits'],
    error: 'is allowed only for POST, PUT, PATCH and DELETE: a read causes no event',
  })
  .refine(
    ({ match: matched, idempotency, idempotencyRetention }) =>
      (idempotency === undefined && idempotencyRetention === undefined) || /^(POST|PATCH) /.test(matched),
    {
      path: ['idempotency'],
      error: 'is allowed only for POST and PATCH: the other methods are idempotent by themselves',
    },
  )
  .refine(({ emits, emitsResource }) => emitsResource === undefined || emits !== undefined, {
    path: ['emitsResource'],
    error: 'has no meaning without `emits`',
  });
