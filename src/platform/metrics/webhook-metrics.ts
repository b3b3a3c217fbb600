/**
 * Defines the metrics of events and webhooks. Labels never contain an account, endpoint or URL, because customers
 * determine how many there are.
 */
import { counter, gauge, histogram } from './metric.js';

/** Results of an attempt. A value is the kind of response, or the reason why there was no response. */
const ATTEMPT_OUTCOMES = [
  'succeeded',
  'failed',
  'gone',
  'aborted',
  'refused',
  'timeout',
  'connect',
  'tls',
  'dns',
] as const;
export type WebhookAttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** Why a destination was refused (`OutboundReason`). */
const REFUSAL_REASONS = [
  ...(['not_a_url', 'too_long', 'scheme', 'userinfo', 'fragment', 'port', 'host_spelling', 'trailing_dot'] as const),
  ...(['name_malformed', 'name_not_public', 'not_an_address', 'unspecified', 'loopback', 'private', 'shared'] as const),
  ...([
    'link_local',
    'cloud_metadata',
    'multicast',
    'documentation',
    'benchmarking',
    'reserved',
    'transition',
  ] as const),
  ...(['embedded_ipv4', 'not_global', 'denied'] as const),
] as const;

const FAILURE_REASONS = ['exhausted', 'gone', 'aborted', 'expired', 'skipped', 'endpoint_deleted'] as const;

/** Bucket bounds in seconds, from deliveries that are sent at once to deliveries in a long backlog. */
const DELAY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600];
const CLAIM_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5];
const ATTEMPT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 30];

const SERVICE_OUTCOMES: ReadonlySet<string> = new Set(['duplicate', 'refused']);

export const WEBHOOK_METRICS = {
  events: counter(
    'trailgate_events_total',
    'Events by source (backends, operations, the gateway) and outcome.',
    [
      ['source', ['service', 'emits', 'trailgate']],
      ['outcome', ['accepted', 'duplicate', 'refused', 'unusable', 'late', 'dropped']],
    ],
    ([source, outcome = '']) =>
      outcome === 'accepted' || (source !== 'trailgate' && (source === 'service') === SERVICE_OUTCOMES.has(outcome)),
  ),
  eventsUnwritten: gauge(
    'trailgate_events_unwritten',
    'Events of operations that wait in memory for the database after their responses were sent.',
    [],
  ),
  webhookAttempts: counter('trailgate_webhook_attempts_total', 'Webhook attempts by result.', [
    ['outcome', ATTEMPT_OUTCOMES],
  ]),
  webhookAttemptDuration: histogram(
    'trailgate_webhook_attempt_duration_seconds',
    'Time of a webhook attempt, from the name lookup to the end of the response.',
    ATTEMPT_BUCKETS,
    [['outcome', ATTEMPT_OUTCOMES]],
  ),
  webhookFirstAttemptDelay: histogram(
    'trailgate_webhook_first_attempt_delay_seconds',
    'Time from the acceptance of an event to the first attempt of each delivery.',
    DELAY_BUCKETS,
    [],
  ),
  webhookDeliveries: counter(
    'trailgate_webhook_deliveries_total',
    'Finished webhook deliveries by result, with the reason of permanent failures.',
    [
      ['state', ['succeeded', 'failed']],
      ['reason', ['', ...FAILURE_REASONS]],
    ],
    ([state, reason]) => (state === 'succeeded') === (reason === ''),
  ),
  webhookClaimDuration: histogram(
    'trailgate_webhook_claim_duration_seconds',
    'Time that a webhook worker took to find and lease due endpoints.',
    CLAIM_BUCKETS,
    [],
  ),
  webhookLanesFound: counter(
    'trailgate_webhook_lanes_found_total',
    'Due webhook endpoints without a notification, found by the scan.',
    [],
  ),
  webhookLanes: gauge('trailgate_webhook_lanes', 'Webhook endpoints that this worker delivers to, by state.', [
    ['state', ['working', 'breaker_open', 'unreadable']],
  ]),
  webhookEndpoints: gauge('trailgate_webhook_endpoints', 'Webhook endpoints of all accounts, by status.', [
    ['status', ['enabled', 'paused', 'disabled']],
  ]),
  webhookBacklog: gauge(
    'trailgate_webhook_backlog',
    'Waiting webhook deliveries by reason. At most 1,000 of each are counted per endpoint.',
    [['state', ['due', 'later', 'held', 'paused']]],
  ),
  webhookActiveAttempts: gauge('trailgate_webhook_active_attempts', 'Webhook attempts in progress.', []),
  webhookOldestDue: gauge(
    'trailgate_webhook_oldest_due_seconds',
    'Time for which the oldest due delivery has been waiting, without failing receivers.',
    [],
  ),
  webhookListenerUp: gauge(
    'trailgate_webhook_listener_up',
    '1 while this worker is notified of new deliveries of other processes.',
    [],
  ),
  webhookRefusedDestinations: counter(
    'trailgate_webhook_refused_destinations_total',
    'Webhook attempts refused because of their destination, by reason.',
    [['reason', REFUSAL_REASONS]],
  ),
} as const;
