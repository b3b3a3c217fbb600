/** Defines the schema of a service (backend) in `gateway.yaml`. */
import { z } from 'zod';
import { PATH_MESSAGE, uniqueTargets } from './address-values.js';
import { duration, keyRetention, pointer, scope, size } from './values.js';

/** Validates `errors` of a service, which locates messages and codes in the backend's error responses. */
export const errorMap = z
  .strictObject({
    message: pointer.optional().describe('Message for the caller, as a JSON Pointer (RFC 6901).'),
    code: pointer.optional().describe("The backend's own code; passed on as `reason`."),
    fields: pointer.optional().describe('Wrong fields: a list of objects or texts, or an object of field to message.'),
    fieldName: pointer.optional().describe('In an entry of the list: name or path of the field.'),
    fieldMessage: pointer.optional().describe('In an entry of the list: its message.'),
    fieldCode: pointer.optional().describe('In an entry of the list: its code.'),
  })
  .describe('Shape of its errors. Missing fields are read where common frameworks put them.');

const backendTls = z
  .strictObject({
    ca: z.string().min(1).optional().describe("Certificate authorities of the backend, PEM; instead of the system's."),
    cert: z.string().min(1).optional().describe('Client certificate with its chain, PEM.'),
    key: z.string().min(1).optional().describe('Private key of that certificate, PEM.'),
    serverName: z
      .string()
      .regex(/^[A-Za-z0-9.-]+$/, 'must be a host name')
      .optional()
      .describe("Name in its certificate and for SNI, if different from the target's host."),
  })
  .refine(({ cert, key }) => (cert === undefined) === (key === undefined), 'cert and key belong together')
  .describe('Verification of https:// targets, and our certificate; files are relative to this file.');

/**
 * Values of the setting `idempotency`. The gateway or the backend makes sure that requests with the same
 * `Idempotency-Key` run at most once. With `off`, neither of them does.
 */
export const IDEMPOTENCY_MODES = ['gateway', 'backend', 'off'] as const;

const scopes = z.array(scope);
const pathPrefix = z.string().regex(/^\/\S*$/, 'must be a path such as /internal');
/** Validates an entry of `include` and `exclude`. */
const selector = z.union(
  [
    z.strictObject({ tag: z.string().min(1) }),
    z.strictObject({ path: pathPrefix }),
    z.strictObject({ operationId: z.string().min(1) }),
  ],
  'must have one of `tag`, `path` and `operationId`',
);

/**
 * Selects operations of an OpenAPI document by tag, operation ID or path. A path also selects the operations below it.
 */
export type OperationSelector = z.output<typeof selector>;
/**
 * Scopes of operations whose document names no scopes. Either one list for all methods, or separate lists for reading
 * and writing methods.
 */
export type DefaultScopes = z.output<typeof defaultScopes>;

const defaultScopes = z.union(
  [scopes, z.strictObject({ read: scopes, write: scopes })],
  'must be a list of scopes, or a map with `read` and `write`',
);

/** Validates an entry of `services`. */
export const serviceSchema = z.strictObject({
  targets: uniqueTargets.describe('HTTP origins; a path is kept as a prefix.'),
  api: z.string().optional().describe('Name of the API in `apis` that the service belongs to; the first by default.'),
  openapi: z.string().min(1).optional().describe('OpenAPI 3.0 or 3.1 document of the service, relative to this file.'),
  scopes: defaultScopes
    .optional()
    .describe(
      'Scopes of operations that name none: a list, or a map of `read` (GET, HEAD, OPTIONS) and `write` to lists. ' +
        '`[]`: any valid key.',
    ),
  include: z
    .array(selector)
    .min(1)
    .optional()
    .describe('Only these operations of the document are published: each by `tag`, `path` or `operationId`.'),
  exclude: z
    .array(selector)
    .default([])
    .describe('Operations of the document that are not published: each by `tag`, `path` or `operationId`.'),
  eventsToken: z
    .string()
    .regex(/^([A-Za-z0-9\-._~+/]+=*)?$/, 'must be of letters, digits and -._~+/')
    .refine((text) => text === '' || text.length >= 32, 'must have at least 32 characters')
    .max(512, 'must have at most 512 characters')
    .optional()
    .describe('Secret with which the service sends events: `${NAME}`, not the text itself. Empty: it sends none.'),
  maxBodyBytes: size.prefault('10MiB').describe('Largest request body that is forwarded.'),
  timeouts: z
    .strictObject({
      connect: duration.prefault('1s').describe('Time to open a connection.'),
      firstByte: duration
        .prefault('10s')
        .describe('Time from the end of the request to the first byte of the response.'),
      idle: duration.prefault('30s').describe('Time between two chunks of a body.'),
    })
    .prefault({})
    .describe('Deadlines of the service.'),
  connections: z
    .int()
    .min(1)
    .max(65_535)
    .default(128)
    .describe('Most connections to one address of a target from one process.'),
  queue: z
    .int()
    .min(0)
    .max(65_535)
    .default(1_024)
    .describe('Most requests waiting for a connection in one process; further ones get 503 at once.'),
  accountShare: z
    .number()
    .min(0.01)
    .max(1)
    .default(0.5)
    .describe(
      'Largest share of the connections, and of the queue, for one account; further requests wait, then ' + 'get 429.',
    ),
  health: z
    .strictObject({
      path: z
        .string()
        .regex(/^\/[\x21-\x7e]*$/, PATH_MESSAGE)
        .describe('Path for GET at the origin of each target; 2xx means healthy.'),
      interval: duration.prefault('5s').describe('Time between two checks.'),
      timeout: duration.prefault('1s').describe('Time for the answer to a check.'),
      healthyAfter: z
        .int()
        .min(1)
        .max(100)
        .default(2)
        .describe('Successful checks in a row that return a target to service.'),
      unhealthyAfter: z
        .int()
        .min(1)
        .max(100)
        .default(2)
        .describe('Failed checks in a row that remove a target from service.'),
    })
    .optional()
    .describe('Active health check of each target.'),
  ejection: z
    .strictObject({
      failures: z
        .int()
        .min(0)
        .max(1_000)
        .default(5)
        .describe('Calls in a row that fail, or get 502, 503 or 504, and eject a target; 0: never.'),
      share: z
        .number()
        .min(0)
        .max(1)
        .default(0.25)
        .describe('Share of failed calls that ejects one of several targets; 0: never.'),
      requests: z.int().min(1).max(100_000).default(20).describe('Fewest calls within `window` for a share.'),
      window: duration.prefault('20s').describe('How long a call counts for the share.'),
      duration: duration.prefault('30s').describe('Duration of the first ejection; doubles each time.'),
      longest: duration.prefault('5m').describe('Longest ejection.'),
    })
    .refine(({ duration: first, longest }) => longest >= first, '`longest` (default 5m) is shorter than `duration`')
    .optional()
    .describe('Ejection of failing targets. A service with one address needs to set it.'),
  retries: z
    .strictObject({
      most: z.int().min(0).max(5).default(2).describe('Most retries of one request, if safe; 0: none.'),
      budget: z.number().min(0).max(1).default(0.2).describe("Most retries, as a share of the service's requests."),
    })
    .prefault({})
    .describe('Retries when a target fails.'),
  errors: errorMap.optional(),
  tls: backendTls.optional(),
  idempotency: z
    .enum(IDEMPOTENCY_MODES)
    .optional()
    .describe(
      'Party that carries out a POST or PATCH with an `Idempotency-Key` once: the gateway, the backend, or ' +
        'none (`off`). By default the backend if its document lists that header, else the gateway.',
    ),
  idempotencyRetention: keyRetention
    .prefault('24h')
    .describe('How long the gateway remembers such a key after the response, 1m to 24d.'),
  authenticates: z
    .boolean()
    .default(false)
    .describe("Whether the service's own 401 and 403 are for the client and passed on, instead of becoming 502."),
});

/** Returns the tokens with which services send events, by service name. Omits services without a token. */
export function eventsTokensOf(
  services: Readonly<Record<string, { readonly eventsToken?: string | undefined }>>,
): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(services).flatMap(([name, { eventsToken }]) =>
      eventsToken === undefined || eventsToken === '' ? [] : [[name, eventsToken] as const],
    ),
  );
}
