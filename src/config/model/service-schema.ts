/** Schema of a service (backend) in `gateway.yaml`. */
import { z } from 'zod';
import { PATH_MESSAGE, uniqueTargets } from './address-values.js';
import { duration, keyRetention, pointer, size } from './values.js';

/** Validates `errors` of a service. */
export const errorMap = z
  .strictObject({
    message: pointer.optional().describe('Where the message for the caller stands, as a JSON Pointer (RFC 6901).'),
    code: pointer.optional().describe("Where the backend's own code stands; passed on as `reason`."),
    fields: pointer
      .optional()
      .describe('Where the wrong fields stand: a list of objects or texts, or an object of field to message.'),
    fieldName: pointer.optional().describe('In an entry of the list: where the name or path of the field stands.'),
    fieldMessage: pointer.optional().describe('In an entry of the list: where its message stands.'),
    fieldCode: pointer.optional().describe('In an entry of the list: where its code stands.'),
  })
  .describe(
    'Where errors of this service keep what they say. What is not named is found where the usual frameworks put it.',
  );

const backendTls = z
  .strictObject({
    ca: z
      .string()
      .min(1)
      .optional()
      .describe("Authorities that its certificate may be from, PEM; instead of the system's."),
    cert: z.string().min(1).optional().describe('Certificate that we show, with its chain, PEM.'),
    key: z.string().min(1).optional().describe('Private key of that certificate, PEM.'),
    serverName: z
      .string()
      .regex(/^[A-Za-z0-9.-]+$/, 'must be a host name')
      .optional()
      .describe("Name that its certificate must have and that we ask for (SNI), where it is not the target's host."),
  })
  .refine(({ cert, key }) => (cert === undefined) === (key === undefined), 'cert and key belong together')
  .describe('How https:// targets are verified, and who we are to them; files are relative to this file.');

/** The party that guarantees that requests with the same `Idempotency-Key` run once. */
export const IDEMPOTENCY_MODES = ['gateway', 'backend', 'off'] as const;

/** Validates an entry of `services`. */
export const serviceSchema = z.strictObject({
  targets: uniqueTargets.describe('Origins that speak HTTP; a path is kept as a prefix.'),
  openapi: z.string().min(1).optional().describe('OpenAPI 3.0 or 3.1 document of the service, relative to this file.'),
  eventsToken: z
    .string()
    .regex(/^([A-Za-z0-9\-._~+/]+=*)?$/, 'must be of letters, digits and -._~+/')
    .refine((text) => text === '' || text.length >= 32, 'must have at least 32 characters')
    .max(512, 'must have at most 512 characters')
    .optional()
    .describe('Secret by which the service hands in events: `${NAME}`, not the text itself. Empty: it hands in none.'),
  maxBodyBytes: size.prefault('10MiB').describe('Largest request body that is forwarded.'),
  timeouts: z
    .strictObject({
      connect: duration.prefault('1s').describe('Until a connection stands.'),
      firstByte: duration.prefault('10s').describe('From the end of the request to the first byte of the answer.'),
      idle: duration.prefault('30s').describe('Between two chunks of a body.'),
    })
    .prefault({})
    .describe('How long the service may take.'),
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
    .describe('Most requests that wait for a connection in one process; more are answered 503 at once.'),
  accountShare: z
    .number()
    .min(0.01)
    .max(1)
    .default(0.5)
    .describe(
      'Largest share of the connections, and of the queue, that one account may hold; more wait, then get 429.',
    ),
  health: z
    .strictObject({
      path: z
        .string()
        .regex(/^\/[\x21-\x7e]*$/, PATH_MESSAGE)
        .describe('Asked with GET at the origin of each target; 2xx means healthy.'),
      interval: duration.prefault('5s').describe('Between two checks.'),
      timeout: duration.prefault('1s').describe('Until a check has its answer.'),
      healthyAfter: z.int().min(1).max(100).default(2).describe('Good answers in a row that bring a target back.'),
      unhealthyAfter: z.int().min(1).max(100).default(2).describe('Failures in a row that take a target out.'),
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
        .describe('Calls in a row that fail or are answered 502, 503 or 504 and take a target out; 0: nothing does.'),
      share: z
        .number()
        .min(0)
        .max(1)
        .default(0.25)
        .describe('Share of failed calls that takes out one of several targets; 0: none does.'),
      requests: z.int().min(1).max(100_000).default(20).describe('Fewest calls within `window` that have a share.'),
      window: duration.prefault('20s').describe('How long a call counts for its share, at most.'),
      duration: duration.prefault('30s').describe('For how long, the first time; each further time twice as long.'),
      longest: duration.prefault('5m').describe('The longest.'),
    })
    .refine(({ duration: first, longest }) => longest >= first, '`longest` (5m unless said) is shorter than `duration`')
    .optional()
    .describe('When a target that fails is left alone. A service with one address has this only where it says so.'),
  retries: z
    .strictObject({
      most: z.int().min(0).max(5).default(2).describe('Most retries of one request, only of what is safe; 0: none.'),
      budget: z
        .number()
        .min(0)
        .max(1)
        .default(0.2)
        .describe('Most retries of the service, as a share of its requests.'),
    })
    .prefault({})
    .describe('What is sent again when a target fails.'),
  errors: errorMap.optional(),
  tls: backendTls.optional(),
  idempotency: z
    .enum(IDEMPOTENCY_MODES)
    .optional()
    .describe(
      'Who carries a POST or PATCH with an `Idempotency-Key` out once: the gateway, the backend, or nobody. ' +
        'Unless said: the backend, where its document has that header among the parameters, else the gateway.',
    ),
  idempotencyRetention: keyRetention
    .prefault('24h')
    .describe('How long the gateway knows such a key, 1m to 24d, from the response on.'),
  authenticates: z
    .boolean()
    .default(false)
    .describe(
      "The service's own 401 and 403 speak to the client and are passed on, instead of counting as our fault (502).",
    ),
});

/** Returns the tokens for sending events, by service. */
export function eventsTokensOf(
  services: Readonly<Record<string, { readonly eventsToken?: string | undefined }>>,
): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(services).flatMap(([name, { eventsToken }]) =>
      eventsToken === undefined || eventsToken === '' ? [] : [[name, eventsToken] as const],
    ),
  );
}
