/**
 * Defines all metrics with their names, help texts, labels and buckets, in the order of a scrape. Some areas are in
 * files of `metrics/`. A test compares `docs/metrics.md` with these definitions.
 *
 * Callers look up a series once and keep it, so that counting a request is an addition without a look-up by labels.
 * Names follow OpenTelemetry's HTTP conventions and Prometheus's rules: base units, `_total` for counters.
 */
import type { ErrorCode } from './problems/errors.js';
import { LIMIT_METRICS } from './metrics/limit-metrics.js';
import { MCP_METRICS } from './metrics/mcp-metrics.js';
import { counter, gauge } from './metrics/metric.js';
import { REQUEST_METRICS } from './metrics/request-metrics.js';
import { WEBHOOK_METRICS } from './metrics/webhook-metrics.js';

export type { HistogramSeries, ValueSeries } from './metrics/metric.js';
export type { WebhookAttemptOutcome } from './metrics/webhook-metrics.js';

/** Phases of the retirement of an operation: deprecated, temporarily off for a test (brownout), and ended (sunset). */
export const ENDING_PHASES = ['deprecated', 'brownout', 'sunset'] as const;

export const OWN_RESOURCES = ['file_descriptors', 'ports', 'memory'] as const;
export type OwnResource = (typeof OWN_RESOURCES)[number];

/** Tasks of the worker role, one per row in `src/program/housekeeping.ts`. */
const HOUSEKEEPING_TASKS = [
  'key_secrets',
  'expiring_keys',
  'events',
  'deliveries',
  'webhook_secrets',
  'usage',
  'sign_ins',
  'request_logs',
  'oauth_objects',
  'idempotency',
  'account_deletions',
] as const;
export type HousekeepingTask = (typeof HOUSEKEEPING_TASKS)[number];

/** Error codes with which the gateway ends an open stream because its key is no longer valid. */
export const CUT_CODES = [
  'revoked_api_key',
  'expired_api_key',
  'invalid_api_key',
  'key_paused',
  'account_suspended',
  'insufficient_scope',
  'ip_not_allowed',
] as const satisfies readonly ErrorCode[];

/** Reasons for which the gateway closes a connection. The last three are reasons for closing a single HTTP/2 stream. */
const CONNECTION_CUTS = [
  'limit',
  'address_limit',
  'file_descriptors',
  'slow_reader',
  'proxy_protocol',
  'header_bytes',
  'streams_without_key',
  'untaken_refusal',
] as const;

export const METRICS = {
  ...REQUEST_METRICS,
  ...LIMIT_METRICS,
  databaseUp: gauge(
    'trailgate_database_up',
    '1 while the database responds (read) and accepts writes (write), by a probe and the latest writes.',
    [['access', ['read', 'write']]],
  ),
  keyCacheEntries: gauge('trailgate_key_cache_entries', 'Keys in memory, by kind (known, unknown).', [
    ['kind', ['known', 'unknown']],
  ]),
  keyLookups: counter('trailgate_key_lookups_total', 'Key lookups by the source of the result.', [
    ['result', ['memory', 'memory_unknown', 'database']],
  ]),
  keyStaleUses: counter(
    'trailgate_key_stale_answers_total',
    'Requests admitted with a cached key that could not be refreshed, because the database was unavailable.',
    [],
  ),
  keyStaleness: gauge(
    'trailgate_key_staleness_seconds',
    'Maximum time for which a revoked key can still be accepted by this process.',
    [],
  ),
  invalidationBusUp: gauge(
    'trailgate_invalidation_bus_up',
    '1 while changes of keys reach this process immediately.',
    [],
  ),
  failedAttempts: counter(
    'trailgate_failed_attempts_total',
    'Wrong keys by outcome: counted, throttled (the last one allowed for its address), unknown_proxy.',
    [['result', ['counted', 'throttled', 'unknown_proxy']]],
  ),
  adminSignIns: counter('trailgate_admin_sign_ins_total', 'Sign-ins to the panel by method and outcome.', [
    ['method', ['password', 'passkey', 'oidc', 'link', 'portal']],
    ['outcome', ['succeeded', 'refused', 'throttled']],
  ]),
  failedAttemptAddresses: gauge(
    'trailgate_failed_attempt_addresses',
    'Addresses with a wrong key in the last minute.',
    [],
  ),
  connections: gauge('trailgate_connections', 'Open client connections.', []),
  connectionsCut: counter(
    'trailgate_connections_cut_total',
    'Client connections and HTTP/2 streams closed by the gateway, by reason.',
    [['reason', CONNECTION_CUTS]],
  ),
  outOfResources: counter(
    'trailgate_out_of_resources_total',
    'Connections and files that this process could not open or accept for lack of a resource.',
    [['resource', OWN_RESOURCES]],
  ),
  streamsCut: counter(
    'trailgate_streams_cut_total',
    'Responses, uploads and WebSockets that were ended because their key is no longer valid, by kind and error code.',
    [
      ['kind', ['answer', 'upload', 'websocket']],
      ['code', CUT_CODES],
    ],
  ),
  clientErrors: counter(
    'trailgate_client_errors_total',
    'Requests that could not be parsed or did not arrive in time, by error code.',
    [['code', ['bad_request', 'request_timeout', 'headers_too_large', 'content_too_large', 'not_implemented']]],
  ),
  logLinesDropped: counter(
    'trailgate_log_lines_dropped_total',
    'Log lines dropped because their reader was too slow or gone.',
    [],
  ),
  logUp: gauge('trailgate_log_up', '1 while log lines can be written, otherwise 0.', []),
  traceSpans: counter(
    'trailgate_trace_spans_total',
    'Spans by outcome: exported, or dropped because the collector was unavailable, too slow or rejected them.',
    [['outcome', ['exported', 'dropped']]],
  ),
  deprecatedRequests: counter(
    'trailgate_deprecated_requests_total',
    'Requests for deprecated or ended operations, by account. Without an account if the key was not valid.',
    [
      ['operation', 'config'],
      ['account_id', 'open'],
      ['phase', ENDING_PHASES],
    ],
  ),
  configReloads: counter(
    'trailgate_config_reloads_total',
    'Configuration changes by result: applied, or refused, in which case the current one stays.',
    [['result', ['applied', 'refused']]],
  ),
  configRefused: gauge(
    'trailgate_config_refused',
    '1 while the latest configuration is refused and an earlier one is in force.',
    [],
  ),
  configReloadTime: gauge(
    'trailgate_config_last_change_timestamp_seconds',
    'Time at which the current configuration was applied, in seconds since the Unix epoch.',
    [],
  ),
  mails: counter(
    'trailgate_mails_total',
    'Emails with links and notices by outcome: sent, delayed until the next attempt, failed permanently.',
    [['outcome', ['sent', 'delayed', 'failed']]],
  ),
  housekeepingRuns: counter(
    'trailgate_housekeeping_runs_total',
    'Runs of periodic tasks of the worker, such as deleting old events, by task and outcome.',
    [
      ['task', HOUSEKEEPING_TASKS],
      ['outcome', ['done', 'failed']],
    ],
  ),
  workerRestarts: counter(
    'trailgate_worker_restarts_total',
    'Processes of --workers that ended unexpectedly and were replaced: workers and the counting process.',
    [],
  ),
  certificateReloads: counter(
    'trailgate_certificate_reloads_total',
    'Changes of certificate files by listener and result: applied, or refused, in which case the current one stays.',
    [
      ['listener', ['gateway', 'admin', 'oauth']],
      ['result', ['applied', 'refused']],
    ],
  ),
  certificateExpiry: gauge(
    'trailgate_certificate_expiry_timestamp_seconds',
    "Expiry of a listener's certificate, in seconds since the Unix epoch.",
    [['listener', 'open']],
  ),
  ...MCP_METRICS,
  ...WEBHOOK_METRICS,
  buildInfo: gauge('trailgate_build_info', 'Always 1; the version is a label.', [['version', 'open']]),
} as const;
