/**
 * The schema of `gateway.yaml`. One place gives each setting its type, bounds, default and description; the JSON Schema
 * for editors, `trailgate check` and `docs/configuration.md` come from it.
 */
import { z } from 'zod';
import '../../problems/plain-words.js';
import { connectionLimits, cors, failedAuthentication, hsts, shutdown } from './listener-schema.js';
import { basePath, host, PATH_MESSAGE, TARGET_MESSAGE, uniqueTargets } from './address-values.js';
import {
  DATE_MESSAGE,
  days,
  duration,
  INSTANT_MESSAGE,
  match,
  POINTER_MESSAGE,
  SCOPE_MESSAGE,
  size,
} from './values.js';

const ADDRESS_MESSAGE = 'must be an address or a block such as 10.0.0.0/8';

/** Where the operations begin unless `api.basePath` says otherwise. */
export const DEFAULT_BASE_PATH = '/api/v1';

const port = z.int().min(0).max(65_535);
/** Largest integer of a structured field (RFC 9651 section 3.3.1): what `RateLimit` can carry. */
export const LARGEST_LIMIT = 999_999_999_999_999;
// The bounds come first: `z.int()` has bounds of its own, and would name those.
const limit = z.number().min(0).max(LARGEST_LIMIT).int();
const date = z
  .union([z.iso.date(DATE_MESSAGE), z.iso.datetime({ offset: true, error: DATE_MESSAGE })], DATE_MESSAGE)
  .nullable();
const address = z.union(
  [z.ipv4(ADDRESS_MESSAGE), z.ipv6(ADDRESS_MESSAGE), z.cidrv4(ADDRESS_MESSAGE), z.cidrv6(ADDRESS_MESSAGE)],
  ADDRESS_MESSAGE,
);

export const SCOPE_PATTERN = /^[a-z][a-z0-9_-]*:(?:[a-z][a-z0-9_-]*|\*)$|^\*$/;
/** Goes behind the name of the setting. */
export const ID_MESSAGE = 'must have 1 to 200 characters, none of them a control character';
/** What metrics, usage and keys call an operation by. */
export const ID_PATTERN = /^[^\p{Cc}]{1,200}$/u;
const scope = z.string().regex(SCOPE_PATTERN, SCOPE_MESSAGE);

const windowLimits = z
  .strictObject({
    minute: limit.optional().describe('Most requests in any 60 seconds.'),
    month: limit.optional().describe('Most requests in a calendar month.'),
  })
  .describe('Limits per window; a window that is not named is unlimited.');

const shadow = z
  .strictObject({
    key: windowLimits.prefault({}).describe('Candidate limits of each API key.'),
    account: windowLimits.prefault({}).describe('Candidate limits of the account.'),
  })
  .describe('Limits that are tried out: what they would have refused is counted and reported, and nothing is refused.');

export const planSchema = z.strictObject({
  key: windowLimits.prefault({}).describe('Limits of each API key.'),
  account: windowLimits.prefault({}).describe('Limits of the account, all of its keys together.'),
  onRedisLoss: z
    .enum(['local', 'open', 'closed'])
    .default('local')
    .describe('While Redis is away: `local` counts on in this process, `open` admits, `closed` answers 503.'),
  charge: z
    .enum(['all', 'successes'])
    .default('all')
    .describe('`successes`: an answer of 400 or above gives its cost back. `all`: only 502, 503 and 504 do.'),
  shadow: shadow.optional(),
});

const pointer = z.string().regex(/^(\/([^~/]|~[01])*)+$/, POINTER_MESSAGE);

const errorMap = z
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

export const serviceSchema = z.strictObject({
  targets: uniqueTargets.describe('Origins that speak HTTP; a path is kept as a prefix.'),
  openapi: z.string().min(1).optional().describe('OpenAPI 3.0 or 3.1 document of the service, relative to this file.'),
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
        .describe('Calls in a row that fail or are answered 502, 503 or 504 and take a target out; 0: none do.'),
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
  authenticates: z
    .boolean()
    .default(false)
    .describe(
      "The service's own 401 and 403 speak to the client and are passed on, instead of counting as our fault (502).",
    ),
});

const brownout = z
  .strictObject({
    from: z.iso.datetime({ offset: true, error: INSTANT_MESSAGE }).describe('First instant, RFC 3339.'),
    to: z.iso.datetime({ offset: true, error: INSTANT_MESSAGE }).describe('First instant that is no longer in it.'),
  })
  .describe(
    'A rehearsal of the end: in this span it answers as after the sunset, so that whoever still calls it notices.',
  );

/** What stands beside a version and beside an operation alike. */
const lifeCycle = {
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
  ...lifeCycle,
});

export const operationSchema = operationFields.refine(
  ({ match: matched, websocket }) => websocket !== true || matched.startsWith('GET '),
  { path: ['websocket'], error: 'can be true of a GET only: a WebSocket begins with one' },
);

export const configSchema = z.strictObject({
  gateway: z
    .strictObject({
      host: host.default('0.0.0.0').describe('Address to listen on.'),
      port: port.default(8080).describe('Port to listen on; 0: any free one.'),
      tls: z
        .strictObject({
          cert: z.string().min(1).describe('Certificate file, with its chain; relative to this file.'),
          key: z.string().min(1).describe('Private key file; relative to this file.'),
        })
        .optional()
        .describe(
          'Certificate and key files (PEM), read again when they change; HTTP/2 and HTTP/1.1. Without it: plain HTTP.',
        ),
      trustedProxies: z.array(address).default([]).describe('Load balancers whose X-Forwarded-For is believed.'),
      proxyProtocol: z
        .array(address)
        .default([])
        .describe('Load balancers that begin each connection with the PROXY protocol (1 or 2); no other may.'),
      hsts,
      failedAuthentication,
      proxyStatus: z
        .boolean()
        .default(false)
        .describe('For finding faults: answers to failed calls of backends say why and name the target (RFC 9209).'),
      shutdown,
      limits: connectionLimits,
      cors,
    })
    .prefault({})
    .describe('The public listener.'),
  admin: z
    .strictObject({
      host: host.default('127.0.0.1').describe('Address to listen on.'),
      port: port.default(8081).describe('Port to listen on; 0: any free one.'),
    })
    .prefault({})
    .describe('Admin API, health and metrics; never public.'),
  api: z
    .strictObject({
      basePath: basePath
        .default(DEFAULT_BASE_PATH)
        .describe('Where the operations begin; its last part is the version.'),
      title: z.string().default('API').describe('Name of the API in its description and reference.'),
      publicUrl: z
        .url({ protocol: /^https?$/, error: TARGET_MESSAGE })
        .refine((url) => /^https?:\/\/[^/?#@]+\/?$/.test(url), 'must be an origin such as https://api.example.com')
        .optional()
        .describe('Origin under which integrators reach the API, for documents and error types.'),
      ...lifeCycle,
      supportMonths: z
        .int()
        .min(0)
        .max(120)
        .default(12)
        .describe(
          'How long the policy page promises that something answers after its deprecation; `check` holds the dates to it.',
        ),
    })
    .prefault({}),
  services: z.record(nameOf(/^[a-z][a-z0-9-]*$/), serviceSchema).describe('The backends by name.'),
  operations: z.array(operationSchema).default([]).describe('Adds to or overrides what the OpenAPI documents say.'),
  plans: z.record(nameOf(/^[a-z][a-z0-9_-]*$/), planSchema).describe('The plans by name; an account has one.'),
  usage: z
    .strictObject({
      flushInterval: duration
        .prefault('5s')
        .describe('The longest that a count waits before it stands in the database.'),
      retention: days.prefault('400d').describe('How long usage and the counts of months are kept, 62d to 3650d.'),
    })
    .prefault({}),
  metrics: z
    .strictObject({
      topAccounts: z
        .int()
        .min(0)
        .max(100)
        .default(10)
        .describe('How many accounts the metrics name: nearest to their month, and refused most; 0: none.'),
    })
    .prefault({})
    .describe('What the metrics tell.'),
  events: z
    .array(z.string().regex(/^[a-z0-9_]+(\.[a-z0-9_]+)+$/, 'must be resource.verb, for example customer.created'))
    .max(1_000)
    .default([])
    .describe('Event types that backends may hand in. Not used yet.'),
});

/** A name of somebody's choice; an object has `constructor` whether somebody chose it or not. */
function nameOf(pattern: RegExp): z.ZodString {
  return z
    .string()
    .regex(pattern, 'must be a lower-case name')
    .max(100, 'must have at most 100 characters')
    .refine((name) => name !== 'constructor', 'is a name that every object has');
}

/** A validated `gateway.yaml`, durations in milliseconds and sizes in bytes. */
export type GatewayFile = z.output<typeof configSchema>;
/** One entry of `operations`. */
export type OperationEntry = z.output<typeof operationSchema>;
export type PlanConfig = z.output<typeof planSchema>;
export type ServiceConfig = z.output<typeof serviceSchema>;
export type ErrorMap = z.output<typeof errorMap>;

/** When a version or an operation is announced to end, and ends. */
export interface LifeCycleDates {
  /** RFC 9745, as written: a date or an instant. */
  readonly deprecation: string | null;
  /** RFC 8594. */
  readonly sunset: string | null;
  readonly successor?: string | undefined;
  /** Spans in which it answers as after the sunset. */
  readonly brownouts: readonly { readonly from: string; readonly to: string }[];
}

/** One method + path template of a service, ready to be matched. Built from the OpenAPI documents and `operations`. */
export interface Operation {
  /** Position in `Config.operations`; metrics and tables are indexed by it. */
  readonly index: number;
  /** `operationId`, or `get_customers_id` made from method and template. Unique. */
  readonly id: string;
  readonly method: string;
  /** Relative to the base path: `/customers/{id}`. */
  readonly template: string;
  readonly service: string;
  /** All are needed; empty means any valid key. */
  readonly scopes: readonly string[];
  readonly cost: number;
  /** Whether a request may become a WebSocket (RFC 6455). */
  readonly isWebSocket?: boolean;
  /** Its own dates, where it has some; those of the version hold beside them. */
  readonly lifeCycle?: LifeCycleDates;
}

/** What differs per machine: the environment, parsed once at start. Nothing else in the program reads `process.env`. */
export interface Environment {
  readonly gatewayPort?: number;
  readonly adminPort?: number;
  readonly customersPort?: number;
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly dataDir: string;
  readonly adminToken?: string;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
}

/** Everything that the program runs by. */
export interface Config {
  readonly file: GatewayFile;
  readonly environment: Environment;
  /** Absolute path of the file that it was read from. */
  readonly path: string;
  readonly operations: readonly Operation[];
  /** Origin that integrators use, without a trailing slash: `api.publicUrl`, else made from host and port. */
  readonly publicUrl: string;
}
