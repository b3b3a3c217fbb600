/**
 * Defines schemas of listener settings, such as TLS, logs, tracing, CORS, HSTS and limits. `schema.ts`,
 * `admin-schema.ts` and `mcp-schema.ts` use these schemas.
 */
import { z } from 'zod';
import { origin } from './address-values.js';
import { duration } from './values.js';

export const port = z.int().min(0).max(65_535);

/** Schema of the certificate and key files of a TLS listener. Each use adds its own description. */
export const tlsPair = z
  .strictObject({
    cert: z.string().min(1).describe('Certificate file, with its chain; relative to this file.'),
    key: z.string().min(1).describe('Private key file; relative to this file.'),
  })
  .optional();

export const failedAuthentication = z
  .strictObject({
    perMinute: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(20)
      .describe(
        'Wrong keys per minute from one address (IPv6: one /64) before it gets 429; 0: no throttle. A ' +
          'change applies at once, also to earlier keys; 0 clears the counts.',
      ),
  })
  .prefault({})
  .describe('The throttle of addresses that try keys.');

export const shutdown = z
  .strictObject({
    delay: duration
      .optional()
      .describe(
        'How long requests are accepted after /readyz answers 503: the time a load balancer needs to ' + 'notice.',
      ),
    drain: duration.prefault('20s').describe('How long requests in progress may take after that.'),
  })
  .prefault({})
  .describe('The end of the process.');

/** Fields that the log line of a request can have, in addition to `level`, `time` and `event`. */
export const LOG_FIELDS = [
  'request_id',
  'trace_id',
  'method',
  'path',
  'protocol',
  'status',
  'duration_ms',
  'upstream_ms',
  'bytes_in',
  'bytes_out',
  'account_id',
  'api_key_id',
  'operation',
  'service',
  'source',
  'tool',
  'quota',
  'replayed',
  'upload',
  'code',
  'client_address',
  'user_agent',
] as const;

export const log = z
  .strictObject({
    format: z
      .enum(['json', 'combined'])
      .default('json')
      .describe('Form of the line: JSON, or the combined log format of Apache and nginx. Other events stay JSON.'),
    successes: z
      .number()
      .min(0)
      .max(1)
      .default(1)
      .describe('Share of the requests with a status below 400 that get a line. Errors always get one.'),
    fields: z
      .array(z.enum(LOG_FIELDS))
      .min(1)
      .optional()
      .describe('Fields of a JSON line, beside `level`, `time` and `event`.'),
  })
  .refine(({ format, fields }) => format === 'json' || fields === undefined, {
    path: ['fields'],
    error: 'is only for `format: json`: the combined format has fixed fields',
  })
  .prefault({})
  .describe('The log line that each request gets.');

export type LogConfig = z.output<typeof log>;

const HEADER_MESSAGE = 'must have no control characters';

const FIELD_MESSAGE = 'must be the name of a header';

export const tracing = z
  .strictObject({
    endpoint: z
      .string()
      .regex(/^https?:\/\/[^/?#@\s]+(\/[^?#@\s]*)?$/, 'must be a URL such as http://otel-collector:4318')
      .describe('Base URL of an OpenTelemetry collector; spans go to `/v1/traces` there, as OTLP/HTTP JSON.'),
    headers: z
      .record(
        z
          .string()
          .regex(
            /^(?!(?:content-type|content-length|host|connection|transfer-encoding)$)[!#$%&'*+.^_`|~0-9a-z-]+$/i,
            FIELD_MESSAGE,
          ),
        z
          .string()
          .regex(/^[ -~]*$/, HEADER_MESSAGE)
          .describe('Header field of each export, such as one of authentication.'),
      )
      .default({}),
    share: z
      .number()
      .min(0)
      .max(1)
      .default(0.1)
      .describe('Share of the requests that are traced. Errors (5xx) always are.'),
    followCallers: z
      .boolean()
      .default(false)
      .describe('Whether the sampling flag of a `traceparent` decides. Then every caller can cause traces.'),
    serviceName: z.string().min(1).default('trailgate').describe('`service.name` of the spans.'),
  })
  .optional()
  .describe('Export of traces. Without it: none, and `traceparent` is passed on.');

const fieldNames = z.array(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, FIELD_MESSAGE));

export const cors = z
  .strictObject({
    origins: z.array(origin).min(1).describe('Origins of pages that may call the API from a browser; `"*"`: all.'),
    maxAge: duration.prefault('1h').describe('How long a browser may cache the answer to a preflight.'),
    allowedHeaders: fieldNames
      .default([
        'Authorization',
        'Content-Type',
        'Idempotency-Key',
        'If-Match',
        'If-None-Match',
        'If-Modified-Since',
        'If-Unmodified-Since',
        'Prefer',
        'Range',
        'X-Request-Id',
        'traceparent',
        'tracestate',
      ])
      .describe('Request headers that a page can set.'),
    exposedHeaders: fieldNames
      .default([
        'RateLimit',
        'RateLimit-Policy',
        'X-RateLimit-Limit',
        'X-RateLimit-Remaining',
        'X-RateLimit-Reset',
        'Retry-After',
        'X-Should-Retry',
        'X-Request-Id',
        'Link',
        'Location',
        'ETag',
        'Allow',
        'Content-Disposition',
        'Content-Range',
        'Deprecation',
        'Idempotency-Stored',
        'Idempotent-Replayed',
        'Sunset',
        'WWW-Authenticate',
      ])
      .describe('Response headers that a page can read.'),
    allowCredentials: z
      .boolean()
      .default(false)
      .describe('Whether browsers send cookies. API keys need none. Not possible with `"*"`.'),
  })
  .refine(({ origins, allowCredentials }) => !(allowCredentials && origins.includes('*')), {
    path: ['allowCredentials'],
    error: 'cannot be true for every origin: browsers refuse it; name the origins',
  })
  .optional()
  .describe('Cross-origin requests from browsers (CORS). Without it: none are allowed.');

export type CorsConfig = z.output<typeof cors>;

const HSTS_MESSAGE = 'must be a number of days such as 365d';

const hstsFields = z.strictObject({
  maxAge: z
    .string(HSTS_MESSAGE)
    .regex(/^\d{1,4}d$/, HSTS_MESSAGE)
    .transform((text) => Number(text.slice(0, -1)))
    .prefault('365d')
    .describe('How many days a browser uses only HTTPS; `0d` revokes it.'),
  includeSubDomains: z.boolean().default(false).describe('Whether it applies to subdomains.'),
  preload: z.boolean().default(false).describe('Whether browsers may include the name in their preload lists.'),
});

/** Schema of HSTS for the public listener. HSTS is on by default, for one year as ASVS 5.0 (3.4.1) requires. */
export const hsts = hstsFields
  .prefault({})
  .describe('Strict-Transport-Security on every response over HTTPS (RFC 6797).');

/** Schema of HSTS for the admin listener. HSTS is off by default. */
export const adminHsts = hstsFields
  .optional()
  .describe('Strict-Transport-Security on every response over HTTPS (RFC 6797). Without it: none.');

export type HstsConfig = z.output<typeof adminHsts>;

export const connectionLimits = z
  .strictObject({
    connections: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(16_384)
      .describe('Most concurrent connections of one process; further ones are closed at once.'),
    connectionsPerAddress: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(1_000)
      .describe(
        'The same per address (IPv6: one /64), except `trustedProxies`; 0: no limit. Set 0 behind a load ' +
          'balancer that is not listed there.',
      ),
    requestsPerConnection: z
      .int()
      .min(0)
      .max(1_000_000_000)
      .default(10_000)
      .describe('Requests after which a connection is closed; 0: never. HTTP/1.1 only.'),
  })
  .prefault({})
  .describe('Limits of connections.');

export type ConnectionLimits = z.output<typeof connectionLimits>;
