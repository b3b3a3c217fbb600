/** Defines the metrics of requests, backend calls and error responses. */
import { ERRORS, type ErrorCode } from '../problems/errors.js';
import { counter, gauge, histogram } from './metric.js';

/** OpenTelemetry's bucket bounds for HTTP durations, in seconds, plus 0.3 for a common objective. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.3, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/**
 * Bucket bounds for the gateway's overhead, in seconds. The overhead is far below a millisecond, unless the request
 * waits for Redis or the database.
 */
const OVERHEAD_BUCKETS = [
  0.0001, 0.00015, 0.0002, 0.0003, 0.0005, 0.00075, 0.001, 0.0015, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
];
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

/**
 * Values of the status label of a backend response. A value is the status class, or the exact status of an error that
 * indicates a backend fault.
 */
export const BACKEND_STATUSES = ['1xx', '2xx', '3xx', '4xx', '500', '502', '503', '504', '5xx'] as const;

/** Reports whether the status label is set if and only if there was a response. */
function namesStatusOfResponse([, , outcome, status]: readonly string[]): boolean {
  return (outcome === 'answered') === (status !== '');
}

export const REQUEST_METRICS = {
  requestDuration: histogram(
    'http_server_request_duration_seconds',
    'Time from the first byte of a request to the end of its response, by operation.',
    DURATION_BUCKETS,
    [
      ['http_request_method', 'open'],
      ['http_route', 'config'],
      ['http_response_status_code', 'open'],
    ],
  ),
  requestOverhead: histogram(
    'trailgate_request_overhead_seconds',
    'Time that Trailgate adds to a forwarded request, without the time of its backend.',
    OVERHEAD_BUCKETS,
    [],
  ),
  upstreamDuration: histogram(
    'trailgate_upstream_request_duration_seconds',
    'Time of a backend call, from dispatch to the end of the response, by outcome.',
    DURATION_BUCKETS,
    [
      ['service', 'config'],
      ['outcome', UPSTREAM_OUTCOMES],
    ],
  ),
  upstreamTargetCalls: counter(
    'trailgate_upstream_target_calls_total',
    'Calls by target, outcome and status of the response. Each retry is a call.',
    [
      ['service', 'config'],
      ['target', 'config'],
      ['outcome', UPSTREAM_OUTCOMES],
      ['status', ['', ...BACKEND_STATUSES]],
    ],
    namesStatusOfResponse,
  ),
  upstreamTargets: gauge(
    'trailgate_upstream_targets',
    'Addresses of each target by state: healthy, failing, ejected or unhealthy.',
    [
      ['service', 'config'],
      ['target', 'config'],
      ['state', ['healthy', 'failing', 'ejected', 'unhealthy']],
    ],
  ),
  upstreamRetries: counter(
    'trailgate_upstream_retries_total',
    'Retried requests by result. over_budget: not retried, because the retry budget was used up.',
    [
      ['service', 'config'],
      ['outcome', ['answered', 'failed', 'over_budget']],
    ],
  ),
  upstreamWaiting: gauge('trailgate_upstream_waiting_requests', 'Requests that are waiting for a connection.', [
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
    'Error responses by code and fault, including refusals by a backend.',
    [
      ['code', Object.keys(ERRORS) as ErrorCode[]],
      ['fault', ['client', 'backend', 'gateway']],
    ],
    ([code, fault]) => ERRORS[code as ErrorCode].fault === fault,
  ),
} as const;
