/**
 * Defines the metrics of quota decisions, the counter store, idempotency keys, and the usage and request logs written
 * to the database.
 */
import { MONTH_NAMES, WINDOW_NAMES } from '../quotas/windows.js';
import { counter, gauge, histogram } from './metric.js';

/** Bucket bounds in seconds, for calls that should take far less than a millisecond. */
const FAST_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05];

/** Label value for the sum of all accounts that are not listed by ID. */
export const OTHER_ACCOUNTS = 'other';

const ACCOUNT_LABELS = [
  ['account_id', 'open'],
  ['plan', 'config'],
] as const;

/** Reports whether the policy label is set if and only if the decision was a refusal. */
function namesPolicyOfRefusal([, outcome, policy]: readonly string[]): boolean {
  return (outcome === 'refused') === (policy !== '');
}

export const LIMIT_METRICS = {
  quotaDecisions: counter(
    'trailgate_quota_decisions_total',
    'Quota decisions by plan, outcome and the policy that refused (empty when admitted).',
    [
      ['plan', 'config'],
      ['outcome', ['admitted', 'refused']],
      ['policy', ['', ...WINDOW_NAMES]],
    ],
    namesPolicyOfRefusal,
  ),
  quotaShadowDecisions: counter(
    'trailgate_quota_shadow_decisions_total',
    'Decisions of shadow limits for admitted requests, by the policy that would have refused.',
    [
      ['plan', 'config'],
      ['outcome', ['admitted', 'refused', 'failed']],
      ['policy', ['', ...WINDOW_NAMES]],
    ],
    namesPolicyOfRefusal,
  ),
  topAccountRefusals: gauge(
    'trailgate_quota_top_account_refusals',
    'Requests refused in the last five minutes, of the most refused accounts and of all others together.',
    [
      ['account_id', 'open'],
      ['policy', WINDOW_NAMES],
    ],
  ),
  topAccountUsed: gauge(
    'trailgate_quota_top_account_used',
    'Requests used this month, of the accounts nearest to their limit and of all others together.',
    ACCOUNT_LABELS,
  ),
  topAccountLimit: gauge('trailgate_quota_top_account_limit', 'Monthly limits of the same accounts.', ACCOUNT_LABELS),
  topAccountForecast: gauge(
    'trailgate_quota_top_account_forecast',
    'Expected usage of the same accounts at the end of the month, at their rate so far.',
    ACCOUNT_LABELS,
  ),
  topAccountsTime: gauge(
    'trailgate_quota_top_accounts_timestamp_seconds',
    'Time of the last read of the accounts nearest to their limit, in seconds since the Unix epoch. 0: not yet.',
    [],
  ),
  quotaRefunds: counter(
    'trailgate_quota_refunds_total',
    'Requests whose cost was refunded, or could not be refunded.',
    [['outcome', ['done', 'failed']]],
  ),
  quotaRefundedCost: counter(
    'trailgate_quota_refunded_cost_total',
    'Cost that was refunded to the month of the request, or could not be refunded.',
    [['outcome', ['done', 'failed']]],
  ),
  quotaReplays: counter(
    'trailgate_quota_replays_total',
    'Keys whose requests during an outage were added to the store afterwards, by outcome.',
    [['outcome', ['counted', 'failed']]],
  ),
  quotaNodes: gauge(
    'trailgate_quota_nodes',
    'Processes that share the limits. While the counters are unavailable, each admits its share.',
    [],
  ),
  quotaStoreUp: gauge('trailgate_quota_store_up', '1 while the counters respond, 0 while plans decide without them.', [
    ['store', ['redis', 'process']],
  ]),
  quotaStoreLostTime: gauge(
    'trailgate_quota_store_lost_timestamp_seconds',
    'Time at which the counters were lost, in seconds since the Unix epoch. 0 while they respond.',
    [],
  ),
  quotaStoreErrors: counter(
    'trailgate_quota_store_errors_total',
    'Calls to the counters that failed or timed out.',
    [],
  ),
  quotaStoreCallDuration: histogram(
    'trailgate_quota_store_call_duration_seconds',
    'Time of a call to the counters, successful or not. Many requests share one call.',
    FAST_BUCKETS,
    [],
  ),
  quotaDegradedSeconds: counter('trailgate_quota_store_degraded_seconds_total', 'Time spent without the counters.', []),
  quotaDegradedDecisions: counter(
    'trailgate_quota_degraded_decisions_total',
    'Decisions without the counters, by the policy of the plan.',
    [['mode', ['local', 'open', 'closed']]],
  ),
  idempotentRequests: counter(
    'trailgate_idempotent_requests_total',
    'Requests with an Idempotency-Key: carried_out (first), replayed (stored response), all others refused.',
    [
      [
        'outcome',
        [
          'carried_out',
          'replayed',
          'in_progress',
          'outcome_unknown',
          'not_stored',
          'mismatch',
          'invalid',
          'throttled',
          'unavailable',
        ],
      ],
    ],
  ),
  idempotentOutcomes: counter(
    'trailgate_idempotent_outcomes_total',
    'First requests with an Idempotency-Key: stored, not_stored, released (not carried out) or unknown.',
    [['outcome', ['stored', 'not_stored', 'released', 'unknown']]],
  ),
  idempotencyClaims: gauge(
    'trailgate_idempotency_claims',
    'Requests with an Idempotency-Key that are in progress.',
    [],
  ),
  idempotencyUnsaid: gauge(
    'trailgate_idempotency_unsaid_outcomes',
    'Outcomes of requests with an Idempotency-Key that wait for the store.',
    [],
  ),
  usageFlushes: counter(
    'trailgate_usage_flushes_total',
    'Writes of usage and month counts to the database, by outcome.',
    [['outcome', ['written', 'failed']]],
  ),
  usageRows: counter('trailgate_usage_rows_total', 'Rows of usage and month counts written.', []),
  usageReconciled: counter(
    'trailgate_usage_reconciled_total',
    'Keys with usage that a dead process had not written, by whether it was entered as unrecorded or found later.',
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
  requestLogFlushes: counter(
    'trailgate_request_log_flushes_total',
    'Writes of request logs to the database, by outcome.',
    [['outcome', ['written', 'failed']]],
  ),
  requestLogRows: counter('trailgate_request_log_rows_total', 'Rows of request logs written.', []),
  requestLogLeftOut: counter(
    'trailgate_request_log_left_out_total',
    'Requests without a row in the request log, because there was no room.',
    [],
  ),
  requestLogQueue: gauge(
    'trailgate_request_log_queue_length',
    'Rows of request logs that are not yet in the database.',
    [],
  ),
  quotaCounters: gauge(
    'trailgate_quota_process_counters',
    'Accounts and keys with counters in this process, by kind.',
    [['kind', ['account', 'key']]],
  ),
  quotaNotices: counter(
    'trailgate_quota_notices_total',
    'Notices that a monthly limit is nearly or completely used, by policy and threshold in percent.',
    [
      ['policy', MONTH_NAMES],
      ['threshold', [80, 100]],
    ],
  ),
} as const;
