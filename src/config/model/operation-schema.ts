/** Schema of operations in `gateway.yaml`, and of the life cycle of operations and versions. */
import { z } from 'zod';
import { operationTool } from './mcp-schema.js';
import { IDEMPOTENCY_MODES } from './service-schema.js';
import { DATE_MESSAGE, INSTANT_MESSAGE, keyRetention, match, pointer, SCOPE_MESSAGE } from './values.js';

export const SCOPE_PATTERN = /^[a-z][a-z0-9_-]*:(?:[a-z][a-z0-9_-]*|\*)$|^\*$/;
/** Follows the name of the setting. */
export const ID_MESSAGE = 'must have 1 to 200 characters, none of them a control character';
/** Valid operation IDs. Metrics, usage and keys use them. */
export const ID_PATTERN = /^[^\p{Cc}]{1,200}$/u;
const scope = z.string().regex(SCOPE_PATTERN, SCOPE_MESSAGE);

const date = z
  .union([z.iso.date(DATE_MESSAGE), z.iso.datetime({ offset: true, error: DATE_MESSAGE })], DATE_MESSAGE)
  .nullable();
const brownout = z
  .strictObject({
    from: z.iso.datetime({ offset: true, error: INSTANT_MESSAGE }).describe('First instant, RFC 3339.'),
    to: z.iso.datetime({ offset: true, error: INSTANT_MESSAGE }).describe('First instant that is no longer in it.'),
  })
  .describe(
    'A rehearsal of the end: in this span it answers as after the sunset, so that whoever still calls it notices.',
  );

/** Life cycle settings of versions and operations. */
export const lifeCycle = {
  deprecation: date.default(null).describe('RFC 9745: when it is or will be deprecated.'),
  sunset: date.default(null).describe('RFC 8594: when it stops answering; from then on 410.'),
  successor: z
    .string()
    .regex(/^(https?:\/\/|\/)[\x21-\x7e]*$/, 'must be a URL, or a path of this API such as /api/v2/customers')
    .optional()
    .describe('What takes its place: `Link` with rel="successor-version" (RFC 5829).'),
  brownouts: z.array(brownout).default([]).describe('Rehearsals of the end.'),
};

const operationFields = z.strictObject({
  match: match.describe('Method and path template, relative to api.basePath.'),
  service: z.string().optional().describe('The service, where no OpenAPI document describes the operation.'),
  id: z.string().regex(ID_PATTERN, ID_MESSAGE).optional().describe('operationId, where no OpenAPI document gives one.'),
  scopes: z.array(scope).optional().describe('All of these are needed. `[]` says on purpose: any valid key.'),
  cost: z.int().min(0).max(1_000_000).optional().describe('How many requests one call counts as; 1 unless said.'),
  websocket: z.boolean().optional().describe('Whether a GET may become a WebSocket; the handshake counts as one call.'),
  encodedSlashes: z
    .enum(['refuse', 'pass'])
    .default('refuse')
    .describe(
      'What becomes of `%2F` in a path parameter. `pass` only where the backend splits paths before it decodes.',
    ),
  emits: z
    .string()
    .optional()
    .describe('The event, one of `events`, that a response of 2xx with a JSON object is, which is its data.'),
  emitsResource: pointer.optional().describe('Where in that object stands what the event is about, such as `/id`.'),
  idempotency: z
    .enum(IDEMPOTENCY_MODES)
    .optional()
    .describe("As the service's, for this operation; of POST and PATCH."),
  idempotencyRetention: keyRetention.optional().describe("As the service's, for this operation."),
  mcp: operationTool
    .optional()
    .describe(
      'Whether AI assistants may call it as a tool: true, false, or a map of `name`, `title`, `description`, `hide`, ' +
        '`fixed`, `readOnly`, `destructive`, `idempotent` and `response`.',
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
    error: 'can be said of POST, PUT, PATCH and DELETE only: nothing happens where something is read',
  })
  .refine(
    ({ match: matched, idempotency, idempotencyRetention }) =>
      (idempotency === undefined && idempotencyRetention === undefined) || /^(POST|PATCH) /.test(matched),
    {
      path: ['idempotency'],
      error: 'can be said of POST and PATCH only: the other methods are idempotent by themselves',
    },
  )
  .refine(({ emits, emitsResource }) => emitsResource === undefined || emits !== undefined, {
    path: ['emitsResource'],
    error: 'has no meaning without `emits`',
  });
