/**
 * From what went wrong on the way to a backend to what the caller is told. A pure table;
 * RFC 9209 section 2.3 names the cases.
 */
import type { ErrorCode } from '../../platform/problems/errors.js';
import { UPSTREAM_OUTCOMES } from '../../platform/metrics/request-metrics.js';

/** How a call to a backend ended, for metrics and the log. */
export type UpstreamOutcome = (typeof UPSTREAM_OUTCOMES)[number];

export interface UpstreamFailure {
  readonly code: ErrorCode;
  readonly outcome: UpstreamOutcome;
}

const UNREACHABLE: UpstreamFailure = { code: 'backend_unreachable', outcome: 'unreachable' };
const BAD_RESPONSE: UpstreamFailure = { code: 'backend_bad_response', outcome: 'bad_response' };
const RESET: UpstreamFailure = { code: 'backend_bad_response', outcome: 'reset' };

/** Codes of a connection whose certificate or handshake was not good enough; OpenSSL's names among them. */
const CERTIFICATE = /^(?:ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET|VERIFY)_)/;

/** By `error.code`, as Node and the connections set it. */
const BY_CODE: Readonly<Record<string, UpstreamFailure>> = {
  ECONNREFUSED: UNREACHABLE,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EHOSTDOWN: UNREACHABLE,
  // Of a family that this machine does not have.
  EADDRNOTAVAIL: UNREACHABLE,
  ENOTFOUND: UNREACHABLE,
  EAI_AGAIN: UNREACHABLE,
  // The address is no longer one of the name's, and its connections are closed.
  TRAILGATE_POOL_CLOSED: UNREACHABLE,
  // Ours: nobody else can mend it.
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
  // Seen by nobody: the head of the response is out, or the refusal has a code of its own.
  TRAILGATE_ACCESS_ENDED: { code: 'invalid_api_key', outcome: 'access_ended' },
  TRAILGATE_CLIENT_TOO_SLOW: { code: 'request_timeout', outcome: 'client_too_slow' },
  TRAILGATE_BAD_ANSWER: BAD_RESPONSE,
  TRAILGATE_ANSWER_HEAD_TOO_LARGE: BAD_RESPONSE,
  TRAILGATE_BODY_LENGTH: { code: 'request_timeout', outcome: 'client_gone' },
};

/** What the system is asked before there is a connection: where it fails, nothing was sent to anybody. */
const OPENING: ReadonlySet<unknown> = new Set(['getaddrinfo', 'connect']);

/**
 * The failure that an error stands for. What nobody foresaw is a bad response of the backend, once there was a
 * connection to it.
 */
export function upstreamFailure(error: unknown): UpstreamFailure {
  const { code, syscall } = causeOf(error);
  if (typeof code !== 'string') return BAD_RESPONSE;
  if (CERTIFICATE.test(code)) return UNREACHABLE;
  return BY_CODE[code] ?? (OPENING.has(syscall) ? UNREACHABLE : BAD_RESPONSE);
}

/** Words for the caller. Nothing of the backend's name, address or message is in them. */
export function failureDetail(failure: UpstreamFailure): string {
  switch (failure.outcome) {
    case 'unreachable':
      return 'The service behind this API could not be reached. Nothing was counted; try again shortly.';
    case 'connect_timeout':
    case 'first_byte_timeout':
    case 'idle_timeout':
    case 'moved':
      return 'The service behind this API took too long. It may or may not have done what was asked.';
    case 'out_of_resources':
    case 'out_of_ports':
      return 'There is no room for this request at the moment. Nothing was sent anywhere; try again later.';
    case 'request_too_large':
      return 'The request body is larger than this operation accepts.';
    case 'client_gone':
    case 'client_too_slow':
      return 'The request body did not arrive in time.';
    default:
      return 'The service behind this API broke off or gave an answer that could not be understood.';
  }
}

interface ErrorLike {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

/** The first code along the chain of causes: `AggregateError` of several addresses carries it one level down. */
export function errorCode(error: unknown): string | undefined {
  const { code } = causeOf(error);
  return typeof code === 'string' ? code : undefined;
}

/** The first error along the chain of causes that has a code; empty where none has. */
function causeOf(error: unknown): ErrorLike {
  let current = error;
  for (let depth = 0; depth < 4 && typeof current === 'object' && current !== null; depth++) {
    const { code, cause, errors } = current as ErrorLike;
    if (typeof code === 'string') return current;
    current = Array.isArray(errors) ? errors[0] : cause;
  }
  return {};
}
