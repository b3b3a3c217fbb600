/**
 * Builds the `Proxy-Status` field (RFC 9209) for failed calls, with the error type and the target. The field is off by
 * default, because it reveals internal addresses.
 */
import type { Problem } from '../../platform/problems/errors.js';
import type { ForwardClient } from '../targets/forward-request.js';
import { errorCode } from '../targets/upstream-errors.js';

/** Proxy error types (RFC 9209 section 2.3) by `error.code`, as set by Node and the gateway's connections. */
const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection_refused',
  ENOTFOUND: 'dns_error',
  EAI_AGAIN: 'dns_timeout',
  EHOSTUNREACH: 'destination_ip_unroutable',
  ENETUNREACH: 'destination_ip_unroutable',
  EHOSTDOWN: 'destination_ip_unroutable',
  ETIMEDOUT: 'connection_timeout',
  TRAILGATE_CONNECT_TIMEOUT: 'connection_timeout',
  ECONNRESET: 'connection_terminated',
  EPIPE: 'connection_terminated',
  TRAILGATE_BACKEND_CLOSED: 'connection_terminated',
  TRAILGATE_FIRST_BYTE_TIMEOUT: 'http_response_timeout',
  TRAILGATE_IDLE_TIMEOUT: 'connection_read_timeout',
  TRAILGATE_ANSWER_HEAD_TOO_LARGE: 'http_response_header_section_size',
  TRAILGATE_REQUEST_TOO_LARGE: 'http_request_error',
  TRAILGATE_CLIENT_TOO_SLOW: 'http_request_error',
};

/** Proxy error types by problem code, for calls that were not sent or failed with an unknown error. */
const BY_PROBLEM: Readonly<Record<string, string>> = {
  backend_unavailable: 'destination_unavailable',
  too_many_concurrent_requests: 'connection_limit_reached',
  content_too_large: 'http_request_error',
  backend_bad_response: 'http_protocol_error',
  backend_unreachable: 'tls_certificate_error',
};

/** ProxyStatus holds the setting of the field, which can change while the gateway runs. */
export class ProxyStatus {
  /** Whether responses to failed calls contain the field. */
  isOn = false;

  setEnabled(isOn: boolean): void {
    this.isOn = isOn;
  }
}

/** Returns the field's value for a problem that ended a call. */
export function proxyStatusOf(problem: Problem, { failedTarget, failedStatus }: ForwardClient): string {
  const code = errorCode(problem.cause);
  const type =
    failedStatus > 0 ? undefined : (BY_CODE[code ?? ''] ?? BY_PROBLEM[problem.code] ?? typeOfStatus(problem.status));
  const parts = ['trailgate'];
  if (type !== undefined) parts.push(`error=${type}`);
  if (failedTarget !== '') parts.push(`next-hop=${quoteString(new URL(failedTarget).host)}`);
  if (failedStatus > 0) parts.push(`received-status=${failedStatus}`);
  if (type !== undefined && code !== undefined) parts.push(`details=${quoteString(code)}`);
  return parts.join('; ');
}

/**
 * Returns the error type for a problem's status. A 4xx is a rejection, for example of a revoked API key, and not an
 * internal error.
 */
function typeOfStatus(status: number): string {
  return status < 500 ? 'http_request_denied' : 'proxy_internal_error';
}

/**
 * Quotes a string for a structured field (RFC 9651 section 3.3.3). Replaces characters that are not printable ASCII
 * with `?`.
 */
function quoteString(text: string): string {
  return `"${text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`;
}
