/**
 * Every metric: name, help, labels with the values that are known beforehand, buckets. `docs/metrics.md` is held to this file by a
 * test.
 *
 * Series are looked up once and kept by whoever counts, so that counting on the request path is an addition, not a look-up
 * by labels. Names follow OpenTelemetry's HTTP conventions and Prometheus's rules: base units, `_total` for counters.
 */
import { ERRORS, type ErrorCode } from '../problems/errors.js';
import { counter, gauge, histogram } from './metric.js';

export type { HistogramSeries, ValueSeries } from './metric.js';

/** Bucket bounds of OpenTelemetry's HTTP duration histograms, in seconds, with 0.3 for the usual objective. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.3, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** What is added to a request: well under a millisecond where nothing waits, more where Redis or the database is asked. */
const OVERHEAD_BUCKETS = [
  0.0001, 0.00015, 0.0002, 0.0003, 0.0005, 0.00075, 0.001, 0.0015, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
];
/** For calls that ought to take well under a millisecond. */
const FAST_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05];

const POLICIES = ['key-minute', 'account-minute', 'account-month', 'key-month'] as const;

/** How a call to a backend ended. */
export const UPSTREAM_OUTCOMES = [
  'answered',
  'unreachable',
  'connect_timeout',
  'first_byte_timeout',
  'idle_timeout',
  'reset',
  'bad_response',
  'body_broken_off',
  'moved',
  'client_gone',
  'client_too_slow',
  'access_ended',
  'request_too_large',
  'out_of_resources',
  'out_of_ports',
] as const;

/** What a backend answered with, as far as a metric tells: the class of a status, and each that says what is wrong with a backend. */
export const BACKEND_STATUSES = ['1xx', '2xx', '3xx', '4xx', '500', '502', '503', '504', '5xx'] as const;

/** Stands for all accounts that are not named, as for all series beyond a bound. */
export const OTHER_ACCOUNTS = 'other';

/** How far the end of an operation has come: announced, rehearsed, there. */
export const ENDING_PHASES = ['deprecated', 'brownout', 'sunset'] as const;

/** What a process can run out of. */
export const OWN_RESOURCES = ['file_descriptors', 'ports', 'memory'] as const;
export type OwnResource = (typeof OWN_RESOURCES)[number];

/** Why a key may not be used any more that has something open. */
export const CUT_CODES = [
  'revoked_api_key',
  'expired_api_key',
  'invalid_api_key',
  'account_suspended',
  'insufficient_scope',
  'ip_not_allowed',
] as const satisfies readonly ErrorCode[];

/** Labels of what is told of an account that is named. */
const OF_ACCOUNT = [
  ['account_id', 'open'],
  ['plan', 'config'],
] as const;

/** Only what was answered has a status. */
function namesStatusOfAnswer([, , outcome, status]: readonly string[]): boolean {
  return (outcome === 'answered') === (status !== '');
}

/** A decision names a policy where it refused, and none otherwise. */
function namesPolicyOfRefusal([, outcome, policy]: readonly string[]): boolean {
  return (outcome === 'refused') === (policy !== '');
}

export const METRICS = {
  requestDuration: histogram(
    'http_server_request_duration_seconds',
    'Time from the first byte of a request to the end of its answer, by operation.',
    DURATION_BUCKETS,
    [
      ['http_request_method', 'open'],
      ['http_route', 'config'],
      ['http_response_status_code', 'open'],
    ],
  ),
  requestOverhead: histogram(
    'trailgate_request_overhead_seconds',
    'Time that Trailgate itself adds to a request that it forwards: all but the time of its backend.',
    OVERHEAD_BUCKETS,
    [],
  ),
  upstreamDuration: histogram(
    'trailgate_upstream_request_duration_seconds',
    'Time that a backend took, from dispatch to the end of its answer, by outcome.',
    DURATION_BUCKETS,
    [
      ['service', 'config'],
      ['outcome', UPSTREAM_OUTCOMES],
    ],
  ),
  upstreamTargetCalls: counter(
    'trailgate_upstream_target_calls_total',
    'Calls by target, outcome and status of what was answered; each retry is a call.',
    [
      ['service', 'config'],
      ['target', 'config'],
      ['outcome', UPSTREAM_OUTCOMES],
      ['status', ['', ...BACKEND_STATUSES]],
    ],
    namesStatusOfAnswer,
  ),
  upstreamTargets: gauge(
    'trailgate_upstream_targets',
    'Addresses of each target by state: healthy, ejected or unhealthy.',
    [
      ['service', 'config'],
      ['target', 'config'],
      ['state', ['healthy', 'ejected', 'unhealthy']],
    ],
  ),
  upstreamRetries: counter(
    'trailgate_upstream_retries_total',
    'Requests that were tried again, by how that ended; over_budget: that were not, because too many had been.',
    [
      ['service', 'config'],
      ['outcome', ['answered', 'failed', 'over_budget']],
    ],
  ),
  upstreamWaiting: gauge('trailgate_upstream_waiting_requests', 'Requests that wait for a connection.', [
    ['service', 'config'],
  ]),
  upstreamRefusals: counter(
    'trailgate_upstream_refusals_total',
    'Requests that were not sent to a service, by reason.',
    [
      ['service', 'config'],
      ['reason', ['no_target', 'queue_full', 'queue_timeout', 'account_share']],
    ],
  ),
  refusals: counter(
    'trailgate_refusals_total',
    'Answers in the error shape, by code and whose fault it was; a backend that refused counts too.',
    [
      ['code', Object.keys(ERRORS) as ErrorCode[]],
      ['fault', ['client', 'backend', 'gateway']],
    ],
    ([code, fault]) => ERRORS[code as ErrorCode].fault === fault,
  ),
  quotaDecisions: counter(
    'trailgate_quota_decisions_total',
    'Quota decisions by plan, outcome and the policy that refused (empty when admitted).',
    [
      ['plan', 'config'],
      ['outcome', ['admitted', 'refused']],
      ['policy', ['', ...POLICIES]],
    ],
    namesPolicyOfRefusal,
  ),
  quotaShadowDecisions: counter(
    'trailgate_quota_shadow_decisions_total',
    'What the shadow limits of a plan would have done with requests that were admitted, by policy that would have refused.',
    [
      ['plan', 'config'],
      ['outcome', ['admitted', 'refused', 'failed']],
      ['policy', ['', ...POLICIES]],
    ],
    namesPolicyOfRefusal,
  ),
  topAccountRefusals: gauge(
    'trailgate_quota_top_account_refusals',
    'Requests refused within the last five minutes, of the accounts that were refused most and of all others together.',
    [
      ['account_id', 'open'],
      ['policy', POLICIES],
    ],
  ),
  topAccountUsed: gauge(
    'trailgate_quota_top_account_used',
    'Used in the current month, of the accounts nearest to their limit and of all others together.',
    OF_ACCOUNT,
  ),
  topAccountLimit: gauge('trailgate_quota_top_account_limit', "The same accounts' limits of the month.", OF_ACCOUNT),
  topAccountForecast: gauge(
    'trailgate_quota_top_account_forecast',
    'What the same accounts will have used at the end of their month, should they go on as they have in it so far.',
    OF_ACCOUNT,
  ),
  topAccountsTime: gauge(
    'trailgate_quota_top_accounts_timestamp_seconds',
    'When the accounts nearest to their limit were last read, seconds since the Unix epoch; 0: not yet.',
    [],
  ),
  quotaRefunds: counter('trailgate_quota_refunds_total', 'Requests whose cost was refunded, or could not be.', [
    ['outcome', ['done', 'failed']],
  ]),
  quotaRefundedCost: counter(
    'trailgate_quota_refunded_cost_total',
    'Cost that was refunded to the month in which it was counted, or that could not be.',
    [['outcome', ['done', 'failed']]],
  ),
  quotaReplays: counter(
    'trailgate_quota_replays_total',
    'Keys whose requests of an outage were counted in the store when it came back, by outcome.',
    [['outcome', ['counted', 'failed']]],
  ),
  quotaNodes: gauge(
    'trailgate_quota_nodes',
    'Processes that hand out the same limits, as last heard over Redis: while it is away, each hands out its share.',
    [],
  ),
  quotaStoreUp: gauge('trailgate_quota_store_up', '1 while the counters answer, 0 while plans decide without them.', [
    ['store', ['redis', 'process']],
  ]),
  quotaStoreLostTime: gauge(
    'trailgate_quota_store_lost_timestamp_seconds',
    'Since when plans decide without the counters, seconds since the Unix epoch; 0 while they answer.',
    [],
  ),
  quotaStoreErrors: counter(
    'trailgate_quota_store_errors_total',
    'Calls to the counters that failed or timed out.',
    [],
  ),
  quotaStoreCallDuration: histogram(
    'trailgate_quota_store_call_duration_seconds',
    'Time that a call to the counters took, answered or not. Many requests share one call.',
    FAST_BUCKETS,
    [],
  ),
  quotaDegradedSeconds: counter('trailgate_quota_store_degraded_seconds_total', 'Time spent without the counters.', []),
  quotaDegradedDecisions: counter(
    'trailgate_quota_degraded_decisions_total',
    'Decisions made without the counters, by what the plan says.',
    [['mode', ['local', 'open', 'closed']]],
  ),
  usageFlushes: counter(
    'trailgate_usage_flushes_total',
    'Writes of usage and month counts to the database, by outcome.',
    [['outcome', ['written', 'failed']]],
  ),
  usageRows: counter('trailgate_usage_rows_total', 'Rows of usage and month counts that were written.', []),
  usageReconciled: counter(
    'trailgate_usage_reconciled_total',
    'Keys of whose month a part had to be entered as unrecorded, or was found since, after a process had died.',
    [],
  ),
  usageFlushLag: gauge(
    'trailgate_usage_flush_lag_seconds',
    'Age of the oldest count that is not yet in the database.',
    [],
  ),
  usageQueue: gauge(
    'trailgate_usage_queue_length',
    'Changes of usage and month counts that are not yet in the database.',
    [],
  ),
  quotaCounters: gauge(
    'trailgate_quota_process_counters',
    'Accounts and keys that have counters in this process, by kind.',
    [['kind', ['account', 'key']]],
  ),
  quotaNotices: counter(
    'trailgate_quota_notices_total',
    'Notices that a month is nearly or wholly used up, by policy and threshold in percent.',
    [
      ['policy', ['account-month', 'key-month']],
      ['threshold', [80, 100]],
    ],
  ),
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
  keyStaleAnswers: counter(
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
  failedAttemptAddresses: gauge(
    'trailgate_failed_attempt_addresses',
    'Addresses with a wrong key in the last minute.',
    [],
  ),
  connections: gauge('trailgate_connections', 'Connections of clients that are open.', []),
  connectionsCut: counter(
    'trailgate_connections_cut_total',
    'Connections that were closed on a client: limit, address_limit, file_descriptors, slow_reader, proxy_protocol.',
    [['reason', ['limit', 'address_limit', 'file_descriptors', 'slow_reader', 'proxy_protocol']]],
  ),
  outOfResources: counter(
    'trailgate_out_of_resources_total',
    'Times that this process could not open something, or did not accept it, because it had run out of what that takes.',
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
  logUp: gauge('trailgate_log_up', '1 while log lines can be written, 0 while nobody reads them.', []),
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
  configReloadTime: gauge(
    'trailgate_config_last_change_timestamp_seconds',
    'When the configuration in force was taken over, seconds since the Unix epoch.',
    [],
  ),
  workerRestarts: counter(
    'trailgate_worker_restarts_total',
    'Worker processes that ended by themselves and were replaced.',
    [],
  ),
  certificateReloads: counter(
    'trailgate_certificate_reloads_total',
    'Changes of the certificate files, by result: applied, or refused while the one in use stays.',
    [['result', ['applied', 'refused']]],
  ),
  certificateExpiry: gauge(
    'trailgate_certificate_expiry_timestamp_seconds',
    "When the listener's certificate ends, seconds since the Unix epoch.",
    [],
  ),
  buildInfo: gauge('trailgate_build_info', 'Always 1; the version is a label.', [['version', 'open']]),
} as const;
