/**
 * Converts a backend's error response into a problem for the client. A 4xx keeps its status and the meaning of its JSON
 * body, unless the backend rejected the gateway's credentials. The body of a 5xx is discarded, because it may describe
 * internals.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorMap } from '../../config/model/schema.js';
import { Problem, type ErrorCode, type ProblemOptions } from '../../platform/problems/errors.js';
import { waitSecondsOf } from '../../platform/problems/retry-after.js';
import { readErrorBody, type ErrorMeaning } from './error-body.js';

/** Error codes by the backend's 4xx status. Any other 4xx becomes `request_refused`. `clientCode` has exceptions. */
const CLIENT_CODES: Readonly<Record<number, ErrorCode>> = {
  402: 'payment_required',
  401: 'invalid_api_key',
  403: 'forbidden',
  404: 'resource_not_found',
  406: 'not_acceptable',
  409: 'conflict',
  410: 'resource_gone',
  412: 'precondition_failed',
  413: 'content_too_large',
  415: 'unsupported_media_type',
  422: 'validation_failed',
  429: 'backend_rate_limited',
};

/** Error codes by the backend's 5xx status. Any other 5xx becomes `backend_bad_response`. */
const BACKEND_CODES: Readonly<Record<number, ErrorCode>> = {
  500: 'backend_error',
  503: 'backend_unavailable',
  504: 'backend_timeout',
};

/** Header fields of an error response that the gateway passes to the client; `www-authenticate` only with a 401. */
const PASSED_FIELDS = [
  'retry-after',
  'allow',
  'www-authenticate',
  'accept-patch',
  'accept-post',
  'content-range',
  // RFC 6455 section 4.4: the WebSocket versions that the backend supports.
  'sec-websocket-version',
] as const;

const UPGRADE_REQUIRED = 426;

export interface BackendResponse {
  readonly status: number;
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** Body as text; undefined if the body was too large or could not be decoded. */
  readonly body: string | undefined;
}

/**
 * Returns the problem for a backend's response with status 400 or above.
 * @param authenticates whether the service checks the client's own credentials. If not, a 401, 403 or 407 means that
 *   the service rejects the gateway's credentials, and becomes `backend_bad_response`.
 * @param errors JSON Pointers to message, code and field errors in the service's error bodies.
 */
export function backendProblem(response: BackendResponse, authenticates: boolean, errors?: ErrorMap): Problem {
  const { status } = response;
  if (status >= 500) return serverProblem(response);
  if ((status === 401 || status === 403 || status === 407) && !authenticates) {
    return new Problem('backend_bad_response', {
      detail: 'The service behind this API rejected the gateway. The fault is on the server side, not in your request.',
    });
  }
  const meaning: ErrorMeaning = readErrorBody(response.headers['content-type'], response.body, errors);
  return new Problem(clientCode(status, meaning), {
    status,
    headers: selectFields(response.headers, status),
    ...upgradeOf(response),
    ...(meaning.detail === undefined ? {} : { detail: meaning.detail }),
    ...(meaning.errors === undefined ? {} : { errors: meaning.errors }),
    ...(meaning.reason === undefined ? {} : { reason: meaning.reason }),
  });
}

/**
 * Returns the `Upgrade` field of a 426, which must name the required protocol (RFC 9110 section 15.5.22). Returns an
 * empty object for any other response.
 */
function upgradeOf({ status, headers: { upgrade } }: BackendResponse): Pick<ProblemOptions, 'upgrade'> {
  return status === UPGRADE_REQUIRED && upgrade !== undefined ? { upgrade: String(upgrade) } : {};
}

/**
 * Returns the error code for a 4xx. A 400 or 422 that concerns only parameters becomes `invalid_parameter` or
 * `invalid_cursor`, like an error of the gateway's own endpoints.
 */
function clientCode(status: number, { reason, errors = [] }: ErrorMeaning): ErrorCode {
  if (status === 400 || status === 422) {
    if (reason === 'invalid_parameter' || reason === 'invalid_cursor') return reason;
    if (errors.length > 0 && errors.every(({ parameter }) => parameter !== undefined)) return 'invalid_parameter';
  }
  return CLIENT_CODES[status] ?? 'request_refused';
}

function serverProblem(response: BackendResponse): Problem {
  const code = BACKEND_CODES[response.status] ?? 'backend_bad_response';
  return new Problem(code, {
    detail:
      code === 'backend_unavailable'
        ? 'The service behind this API is temporarily unavailable. Try again later.'
        : 'The service behind this API failed. Include the request ID when you report it.',
    headers: selectFields(response.headers, response.status),
  });
}

function selectFields(headers: Readonly<IncomingHttpHeaders>, status: number): string[] {
  const kept: string[] = [];
  for (const name of PASSED_FIELDS) {
    const value = headers[name];
    if (value === undefined || (name === 'www-authenticate' && status !== 401)) continue;
    if (name !== 'retry-after') kept.push(name, String(value));
    else addRetryAfter(kept, String(value), headers.date);
  }
  return kept;
}

/** Adds `Retry-After` to `kept` if the value can be parsed and does not exceed `LONGEST_WAIT_MS`. */
function addRetryAfter(kept: string[], retryAfter: string, date: string | undefined): void {
  const seconds = waitSecondsOf(retryAfter, date);
  if (seconds !== undefined) kept.push('retry-after', String(seconds));
}
