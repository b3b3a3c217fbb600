/**
 * Defines the schema of `gateway.yaml`, with type, bounds, default and description of each setting. The JSON Schema for
 * editors, `trailgate check` and `docs/configuration.md` are derived from this schema.
 */
import { z } from 'zod';
import '../../platform/problems/plain-words.js';
import { admin } from './admin-schema.js';
import { basePath, host, proxyAddress, TARGET_MESSAGE } from './address-values.js';
import type { DescribedTool } from './described-tool.js';
import { events } from './event-schema.js';
import {
  connectionLimits,
  cors,
  failedAuthentication,
  hsts,
  log,
  port,
  shutdown,
  tlsPair,
  tracing,
} from './listener-schema.js';
import { mcp } from './mcp-schema.js';
import { lifeCycle, operationSchema } from './operation-schema.js';
import { planSchema } from './plan-schema.js';
import { type errorMap, serviceSchema } from './service-schema.js';
import { pathsBuiltAtStart, untilRestart } from './until-restart.js';
import { days, duration, logDays } from './values.js';
import { webhooks } from './webhooks-schema.js';

/** Default of `api.basePath`. */
export const DEFAULT_BASE_PATH = '/api/v1';
/** Maximum number of entries of `apis`. Each API has its own routing table and documents. */
const MAX_APIS = 20;
const API_NAME = /^[a-z][a-z0-9-]*$/;

/** Schemas of the settings that `api` and the entries of `apis` share. */
const apiSettings = {
  title: z.string().default('API').describe('Name of the API in its description and reference.'),
  description: z
    .string()
    .max(10_000)
    .optional()
    .describe("Text of the description, Markdown, instead of the services'."),
  support: z
    .strictObject({
      name: z.string().min(1).max(200).optional().describe('Name of the team.'),
      url: z
        .url({ protocol: /^https?$/ })
        .optional()
        .describe('Page where integrators get help.'),
      email: z.email().optional().describe('Address where integrators get help.'),
    })
    .optional()
    .describe("Where integrators get help: the contact in the description, instead of the services'."),
  publicUrl: z
    .url({ protocol: /^https?$/, error: TARGET_MESSAGE })
    .refine((url) => /^https?:\/\/[^/?#@]+\/?$/.test(url), 'must be an origin such as https://api.example.com')
    .optional()
    .describe('Origin of the API for integrators, in its OpenAPI document and links to successors.'),
  ...lifeCycle,
  supportMonths: z
    .int()
    .min(0)
    .max(120)
    .default(12)
    .describe('Months that the policy page promises between deprecation and sunset. `check` enforces it.'),
};

/** Validates `gateway.yaml`. */
export const configSchema = z.strictObject({
  gateway: z
    .strictObject({
      host: untilRestart(host.default('0.0.0.0').describe('Address to listen on.')),
      port: untilRestart(port.default(8080).describe('Port to listen on; 0: any free one.')),
      tls: untilRestart(
        tlsPair.describe(
          'Certificate and key files (PEM), read again when they change; HTTP/2 and HTTP/1.1. Without it: plain HTTP.',
        ),
      ),
      trustedProxies: untilRestart(
        z.array(proxyAddress).default([]).describe('Load balancers whose X-Forwarded-For is trusted.'),
      ),
      proxyProtocol: untilRestart(
        z
          .array(proxyAddress)
          .default([])
          .describe('Load balancers that start each connection with the PROXY protocol (1 or 2). Others must not.'),
      ),
      requireTls: z
        .boolean()
        .optional()
        .describe(
          'Whether requests in clear text get 403. By default with `tls`, and if a trusted proxy sends ' +
            '`X-Forwarded-Proto: http`.',
        ),
      revokeExposedKeys: z
        .boolean()
        .default(false)
        .describe('Whether a key is revoked at once if it is sent in clear text and `requireTls` refuses it.'),
      hosts: z
        .array(host)
        .max(100)
        .default([])
        .describe(
          'Host names of the API in addition to that of `api.publicUrl`; others get 421. Without both, any ' +
            'name is accepted. This machine can use `localhost` and 127.0.0.1.',
        ),
      hsts: untilRestart(hsts),
      failedAuthentication,
      proxyStatus: z
        .boolean()
        .default(false)
        .describe('For debugging: answers to failed backend calls name the cause and the target (RFC 9209).'),
      log,
      shutdown,
      limits: connectionLimits,
      cors,
    })
    .prefault({})
    .describe('The public listener.'),
  admin,
  api: z
    .strictObject({
      basePath: untilRestart(
        basePath.default(DEFAULT_BASE_PATH).describe('Path prefix of all operations; its last part is the version.'),
      ),
      ...apiSettings,
    })
    .prefault({})
    .describe('The API. For several versions or APIs, use `apis` instead.'),
  apis: z
    .array(
      z.strictObject({
        name: nameOf(API_NAME).describe(
          'Name, for `api` of services. Operations of all but the first have it before their ids.',
        ),
        basePath: basePath.describe('Path prefix of its operations.'),
        hosts: z.array(host).max(100).default([]).describe('Host names under which it is served; any by default.'),
        ...apiSettings,
      }),
    )
    .min(1)
    .max(MAX_APIS)
    .optional()
    .describe('Several versions or APIs, instead of `api`. The first is that of services without `api`.'),
  services: z.record(nameOf(/^[a-z][a-z0-9-]*$/), serviceSchema).describe('The backends by name.'),
  operations: z.array(operationSchema).default([]).describe('Adds to or overrides the OpenAPI documents.'),
  plans: z.record(nameOf(/^[a-z][a-z0-9_-]*$/), planSchema).describe('The plans by name; an account has one.'),
  usage: z
    .strictObject({
      flushInterval: untilRestart(
        duration.prefault('5s').describe('Longest time before a count is written to the database.'),
      ),
      retention: untilRestart(
        days.prefault('400d').describe('How long usage and month counts are kept, 62d to 3650d.'),
      ),
      requestLogRetention: logDays
        .prefault('7d')
        .describe('How long request logs are kept, 1d to 90d; off: none are kept.'),
      deletedAccounts: z
        .enum(['delete', 'anonymous'])
        .default('delete')
        .describe('Usage of deleted accounts: delete it, or keep its sums without accounts and keys.'),
    })
    .prefault({}),
  metrics: z
    .strictObject({
      topAccounts: z
        .int()
        .min(0)
        .max(100)
        .default(10)
        .describe('How many accounts the metrics name: those nearest to their month, and those refused most; 0: none.'),
    })
    .prefault({})
    .describe('Metrics.'),
  tracing: untilRestart(tracing),
  events,
  webhooks,
  mcp,
});

/** Paths of the settings that take effect only after a restart, such as `['gateway', 'host']`. */
export const RESTART_PATHS: readonly (readonly string[])[] = pathsBuiltAtStart(configSchema);

/** Returns a schema for names that the operator chooses. Rejects `constructor`, which every JavaScript object has. */
function nameOf(pattern: RegExp): z.ZodString {
  return z
    .string()
    .regex(pattern, 'must be a lower-case name')
    .max(100, 'must have at most 100 characters')
    .refine((name) => name !== 'constructor', 'is a name that every object has');
}

/** The validated `gateway.yaml`, with durations in milliseconds and sizes in bytes. */
export type GatewayFile = z.output<typeof configSchema>;
/** An entry of `operations`. */
export type OperationEntry = z.output<typeof operationSchema>;
export type PlanConfig = z.output<typeof planSchema>;
export type ServiceConfig = z.output<typeof serviceSchema>;
export type ErrorMap = z.output<typeof errorMap>;

/** Life cycle of an API or an operation. */
export interface LifeCycleDates {
  /** Deprecation date (RFC 9745), which is a date or an instant as written in the file. Null if there is none. */
  readonly deprecation: string | null;
  /** Sunset date (RFC 8594), as written in the file. Null if there is none. */
  readonly sunset: string | null;
  /** URL or path of the successor. */
  readonly successor?: string | undefined;
  /** Brownouts, which are periods in which requests get the same response as after the sunset. */
  readonly brownouts: readonly { readonly from: string; readonly to: string }[];
}

/** An operation that the gateway can route. It comes from the OpenAPI documents and the `operations` entries. */
export interface Operation {
  /**
   * Position in `Config.operations`. After a reload, unchanged operations keep their index. Metrics, tables and caches
   * use this index.
   */
  readonly index: number;
  /**
   * `operationId`, or an ID derived from method and template, such as `get_customers_id`. Unique. IDs of all APIs but
   * the first have the API name as a prefix.
   */
  readonly id: string;
  readonly method: string;
  /** Path template relative to the base path, such as `/customers/{id}`. */
  readonly template: string;
  readonly service: string;
  /** Name of the API that contains the operation. Undefined for the first API. */
  readonly api?: string;
  /**
   * Route in metrics and traces, which is the template with its base path. Undefined for the first API, whose route is
   * `template`.
   */
  readonly route?: string;
  /** Required scopes. A key must have all of them. If the list is empty, any valid key can call the operation. */
  readonly scopes: readonly string[];
  /** Number of requests that one call counts as. */
  readonly cost: number;
  /** Whether requests can be upgraded to a WebSocket (RFC 6455). */
  readonly isWebSocket?: boolean;
  /** Whether path parameters can contain encoded slashes (`%2F`). */
  readonly takesSlashes?: boolean;
  /** Life cycle of the operation, in addition to that of its API. */
  readonly lifeCycle?: LifeCycleDates;
  /** Event that a successful response emits. Undefined if the operation emits no event. */
  readonly emits?: Emits;
  /** How long responses are kept by `Idempotency-Key`. Undefined if the gateway does not handle this header. */
  readonly idempotency?: KeyRetention;
}

/** Path of an operation that an OpenAPI document describes but the gateway does not publish. */
export interface UnpublishedPath {
  /** Name of the API that contains the path. Undefined for the first API. */
  readonly api?: string;
  /** Path template relative to the base path. */
  readonly template: string;
}

/** KeyRetention is the time in ms for which the gateway keeps responses by idempotency key. */
export interface KeyRetention {
  readonly retentionMs: number;
}

/** The event that an operation emits. */
export interface Emits {
  /** Name of an event type in `events`. */
  readonly type: string;
  /**
   * Location of the resource ID in the response, as unescaped parts of a JSON Pointer (RFC 6901). Undefined if the
   * event has no resource ID.
   */
  readonly resource: readonly string[] | undefined;
}

/** Description of a scope, for people who choose the scopes of an API key. */
export interface ScopeWords {
  /** Text that describes the scope. Null if no document and no operation summary describes the scope. */
  readonly description: string | null;
  /** Group of the scope, which is a tag of its operations. Null if the operations have no tags. */
  readonly group: string | null;
  /** Translations of description and group by language, such as `es`. Only languages of the documents are present. */
  readonly translations: Readonly<Record<string, TranslatedScope>>;
}

/** Translation of a scope's description and group. Null if the translation is missing. */
export interface TranslatedScope {
  readonly description: string | null;
  readonly group: string | null;
}

/** An event type that backends can send. */
export interface EventType {
  /** Name of the event type, such as `customer.created`. */
  readonly name: string;
  /** JSON Schema (2020-12) of the event data. Null if any object is valid. */
  readonly schema: Readonly<Record<string, unknown>> | null;
  readonly description: string | null;
  /** Example of the event data. Null if there is no example. */
  readonly example: unknown;
}

/**
 * Settings from environment variables, read once at startup. References such as `${NAME}` in `gateway.yaml` are
 * resolved separately, at each load of the file.
 */
export interface Environment {
  readonly gatewayPort?: number;
  readonly adminPort?: number;
  readonly customersPort?: number;
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly dataDir: string;
  readonly adminToken?: string;
  /** Key that encrypts secrets in the database, 32 bytes in base64. */
  readonly secretsKey?: string;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
}

/** The complete configuration of the running program. */
export interface Config {
  /** The validated file, in which the ports of the environment already replace those of the file. */
  readonly file: GatewayFile;
  readonly environment: Environment;
  /** Absolute path of `gateway.yaml`. */
  readonly path: string;
  readonly operations: readonly Operation[];
  /** Path templates with unpublished operations. Other operations must not receive requests for these paths. */
  readonly unpublished: readonly UnpublishedPath[];
  /** Descriptions, groups and translations of the scopes that operations require, by scope. */
  readonly scopeWords?: ReadonlyMap<string, ScopeWords>;
  /** MCP tools for AI assistants. Empty if the MCP server is disabled. */
  readonly tools?: readonly DescribedTool[];
  /** Event types that backends can send. */
  readonly eventTypes?: readonly EventType[];
  /** Public origin of the first API without a trailing slash. Derived from the listener if `publicUrl` is unset. */
  readonly publicUrl: string;
}
