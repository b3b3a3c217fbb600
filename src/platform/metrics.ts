/**
 * All metrics: names, help texts, labels with known values, and buckets. A test compares `docs/metrics.md` with them.
 * They are listed here, and by area in `metrics/`, in the order of the scrape.
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

/** Phases of an operation's end: announced, rehearsed, over. */
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

/** Error codes with which an open stream is cut because its key is no longer valid. */
export const CUT_CODES = [
  'revoked_api_key',
  'expired_api_key',
  'invalid_api_key',
  'key_paused',
  'account_suspended',
  'insufficient_scope',
  'ip_not_allowed',
] as const satisfies readonly ErrorCode[];

/** Why a connection is closed. The last three apply to HTTP/2 streams. */
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
    '1 while the database answers (read) and takes writes (write), as a probe and the last writes have found.',
    [['access', ['read', 'write']]],
  ),
  keyCacheEntries: gauge('trailgate_key_cache_entries', 'Keys in memory, by kind (known, unknown).', [
    ['kind', ['known', 'unknown']],
  ]),
  keyLookups: counter('trailgate_key_lookups_total', 'Look-ups of keys, by where the answer came from.', [
    ['result', ['memory', 'memory_unknown', 'database']],
  ]),
  keyStaleUses: counter(
    'trailgate_key_stale_answers_total',
    'Requests that were let in on a key that could not be checked again, because the database was away.',
    [],
  ),
  keyStaleness: gauge(
    'trailgate_key_staleness_seconds',
    'How long ago a key may have been revoked, at most, and still be let in here.',
    [],
  ),
  invalidationBusUp: gauge('trailgate_invalidation_bus_up', '1 while changes to keys reach this process at once.', []),
  failedAttempts: counter(
    'trailgate_failed_attempts_total',
    'Wrong keys by what was made of them: counted, throttled (the one that used up its address), unknown_proxy.',
    [['result', ['counted', 'throttled', 'unknown_proxy']]],
  ),
  adminSignIns: counter('trailgate_admin_sign_ins_total', 'Sign-ins to the panel, by how and by what became of them.', [
    ['method', ['password', 'passkey', 'oidc', 'link', 'portal']],
    ['outcome', ['succeeded', 'refused', 'throttled']],
  ]),
  failedAttemptAddresses: gauge(
    'trailgate_failed_attempt_addresses',
    'Addresses with a wrong key in the last minute.',
    [],
  ),
  connections: gauge('trailgate_connections', 'Connections of clients that are open.', []),
  connectionsCut: counter(
    'trailgate_connections_cut_total',
    'Connections, and streams of HTTP/2, that were closed on a client, by reason.',
    [['reason', CONNECTION_CUTS]],
  ),
  outOfResources: counter(
    'trailgate_out_of_resources_total',
    'Times that this process could not open something, or did not accept it, ' +
      'because it had run out of what that takes.',
    [['resource', OWN_RESOURCES]],
  ),
  streamsCut: counter(
    'trailgate_streams_cut_total',
    'Answers, uploads and WebSockets that were cut because their key may not be used any more, by kind and error code.',
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
    'Log lines that were dropped because their reader was too slow or gone.',
    [],
  ),
  logUp: gauge('trailgate_log_up', '1 while log lines can be written, otherwise 0.', []),
  traceSpans: counter(
    'trailgate_trace_spans_total',
    'Spans that the collector took, and those that were dropped because it was away, too slow or rejected them.',
    [['outcome', ['exported', 'dropped']]],
  ),
  deprecatedRequests: counter(
    'trailgate_deprecated_requests_total',
    'Requests for what is deprecated or has ended, by account; without an account where no valid key came.',
    [
      ['operation', 'config'],
      ['account_id', 'open'],
      ['phase', ENDING_PHASES],
    ],
  ),
  configReloads: counter(
    'trailgate_config_reloads_total',
    'Changes of the configuration, by result: applied, or refused while the one in force stays.',
    [['result', ['applied', 'refused']]],
  ),
  configRefused: gauge(
    'trailgate_config_refused',
    '1 while the latest configuration was refused and an earlier one is in force.',
    [],
  ),
  configReloadTime: gauge(
    'trailgate_config_last_change_timestamp_seconds',
    'When the configuration in force was taken over, seconds since the Unix epoch.',
    [],
  ),
  mails: counter(
    'trailgate_mails_total',
    'Mails with links and notices, by outcome: sent, delayed until the next try, failed for good.',
    [['outcome', ['sent', 'delayed', 'failed']]],
  ),
  housekeepingRuns: counter(
    'trailgate_housekeeping_runs_total',
    'Runs of what a worker does by itself, such as deleting old events, by task and outcome.',
    [
      ['task', HOUSEKEEPING_TASKS],
      ['outcome', ['done', 'failed']],
    ],
  ),
  workerRestarts: counter(
    'trailgate_worker_restarts_total',
    'Processes of --workers that ended by themselves and were replaced: workers, and the one that counts for them.',
    [],
  ),
  certificateReloads: counter(
    'trailgate_certificate_reloads_total',
    'Changes of the certificate files, by listener and result: applied, or refused while the one in use stays.',
    [
      ['listener', ['gateway', 'admin', 'oauth']],
      ['result', ['applied', 'refused']],
    ],
  ),
  certificateExpiry: gauge(
    'trailgate_certificate_expiry_timestamp_seconds',
    "When a listener's certificate ends, seconds since the Unix epoch.",
    [['listener', 'open']],
  ),
  ...MCP_METRICS,
  ...WEBHOOK_METRICS,
  buildInfo: gauge('trailgate_build_info', 'Always 1; the version is a label.', [['version', 'open']]),
} as const;
