/** Maps failures of backend calls to error codes for clients. RFC 9209 section 2.3 describes the cases. */
import type { ErrorCode } from '../../platform/problems/errors.js';
import { UPSTREAM_OUTCOMES } from '../../platform/metrics/request-metrics.js';

/** Result of a backend call, for metrics and the log. */
export type UpstreamOutcome = (typeof UPSTREAM_OUTCOMES)[number];

/** A failed backend call: error code for the client, and outcome for metrics and the log. */
export interface UpstreamFailure {
  readonly code: ErrorCode;
  readonly outcome: UpstreamOutcome;
}

const UNREACHABLE: UpstreamFailure = { code: 'backend_unreachable', outcome: 'unreachable' };
const BAD_RESPONSE: UpstreamFailure = { code: 'backend_bad_response', outcome: 'bad_response' };
const RESET: UpstreamFailure = { code: 'backend_bad_response', outcome: 'reset' };

/** Values of `error.code` for rejected certificates and failed TLS handshakes, from Node and OpenSSL. */
const TLS_ERROR = /^(?:ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET|VERIFY)_)/;

/** Failures by `error.code`, as set by Node and the gateway itself. */
const BY_CODE: Readonly<Record<string, UpstreamFailure>> = {
  ECONNREFUSED: UNREACHABLE,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EHOSTDOWN: UNREACHABLE,
  // An address family that this machine does not have.
  EADDRNOTAVAIL: UNREACHABLE,
  ENOTFOUND: UNREACHABLE,
  EAI_AGAIN: UNREACHABLE,
  // The name no longer resolves to the address, so the pool of the address is closed.
  TRAILGATE_POOL_CLOSED: UNREACHABLE,
  // Resource shortages of the gateway itself.
  TRAILGATE_OUT_OF_RESOURCES: { code: 'gateway_overloaded', outcome: 'out_of_resources' },
  TRAILGATE_OUT_OF_PORTS: { code: 'gateway_overloaded', outcome: 'out_of_ports' },
  ECONNRESET: RESET,
  EPIPE: RESET,
  TRAILGATE_BACKEND_CLOSED: RESET,
  ETIMEDOUT: { code: 'backend_timeout', outcome: 'connect_timeout' },
  TRAILGATE_CONNECT_TIMEOUT: { code: 'backend_timeout', outcome: 'connect_timeout' },
  TRAILGATE_FIRST_BYTE_TIMEOUT: { code: 'backend_timeout', outcome: 'first_byte_timeout' },
  TRAILGATE_IDLE_TIMEOUT: { code: 'backend_timeout', outcome: 'idle_timeout' },
  TRAILGATE_PROBE_FAILED: { code: 'backend_unavailable', outcome: 'answered' },
  TRAILGATE_TARGET_LOST: { code: 'backend_timeout', outcome: 'moved' },
  TRAILGATE_REQUEST_TOO_LARGE: { code: 'content_too_large', outcome: 'request_too_large' },
  TRAILGATE_CLIENT_GONE: { code: 'request_timeout', outcome: 'client_gone' },
  // Clients never receive this code. Either the response has begun, or the revocation has its own problem.
  TRAILGATE_ACCESS_ENDED: { code: 'invalid_api_key', outcome: 'access_ended' },
  TRAILGATE_CLIENT_TOO_SLOW: { code: 'request_timeout', outcome: 'client_too_slow' },
  TRAILGATE_BAD_ANSWER: BAD_RESPONSE,
  TRAILGATE_ANSWER_HEAD_TOO_LARGE: BAD_RESPONSE,
  TRAILGATE_BODY_LENGTH: { code: 'request_timeout', outcome: 'client_gone' },
};

/** System calls before a connection is open. If one of them fails, nothing was sent. */
const CONNECTING_SYSCALLS: ReadonlySet<unknown> = new Set(['getaddrinfo', 'connect']);

/**
 * Returns the failure for an error. Errors without a code, and unknown errors on an open connection, count as a bad
 * response.
 */
export function upstreamFailure(error: unknown): UpstreamFailure {
  const { code, syscall } = causeOf(error);
  if (typeof code !== 'string') return BAD_RESPONSE;
  if (TLS_ERROR.test(code)) return UNREACHABLE;
  return BY_CODE[code] ?? (CONNECTING_SYSCALLS.has(syscall) ? UNREACHABLE : BAD_RESPONSE);
}

/** Returns the `detail` for the client, which must not contain the backend's name, address or error message. */
export function failureDetail(failure: UpstreamFailure): string {
  switch (failure.outcome) {
    case 'unreachable':
      return 'The service behind this API could not be reached. The request does not count toward limits. Try again shortly.';
    case 'connect_timeout':
    case 'first_byte_timeout':
    case 'idle_timeout':
    case 'moved':
      return 'The service behind this API did not respond in time. It may or may not have processed the request.';
    case 'out_of_resources':
    case 'out_of_ports':
      return 'The gateway is at capacity. The request was not sent to any service. Try again later.';
    case 'request_too_large':
      return 'The request body is larger than this operation accepts.';
    case 'client_gone':
    case 'client_too_slow':
      return 'The request body did not arrive in time.';
    default:
      return 'The service behind this API sent an incomplete or invalid response.';
  }
}

interface ErrorLike {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

/** Returns the first code among the error and its causes; undefined if none has a code. */
export function errorCode(error: unknown): string | undefined {
  const { code } = causeOf(error);
  return typeof code === 'string' ? code : undefined;
}

/**
 * Returns the first error with a code among the error and its causes, or an empty object. Looks into `AggregateError`.
 */
function causeOf(error: unknown): ErrorLike {
  let current = error;
  for (let depth = 0; depth < 4 && typeof current === 'object' && current !== null; depth++) {
    const { code, cause, errors } = current as ErrorLike;
    if (typeof code === 'string') return current;
    current = Array.isArray(errors) ? errors[0] : cause;
  }
  return {};
}
