/**
 * Typed client for the admin API. The session cookie authenticates its requests. If a request needs a sign-in or
 * confirmation, the client waits for the user and then repeats the request.
 */
import createClient from 'openapi-fetch';
import type { paths } from './admin-api.js';
import { isUserActive } from './user-activity.js';
import { passGate, type GateKind } from './gate.js';
import { ApiProblem, Unreachable } from './problem.js';

/** Kind of dialog in which the user can resolve an error, by error code. */
const GATES_BY_CODE: ReadonlyMap<string, GateKind> = new Map([
  ['session_ended', 'sign_in'],
  ['missing_credentials', 'sign_in'],
  ['confirmation_required', 'confirm'],
]);
/**
 * Paths of requests for sign-in and sign-out. Their callers handle a missing session, so the sign-in dialog does not
 * open for them.
 */
const SIGN_IN_REQUESTS = /^\/admin\/v1\/(?:sign-in|links|sign-out|confirmations|me$)/;

let csrfToken = '';

/**
 * Stores the CSRF token, which all requests except GET must send. The token comes from `GET me` and from sign-in
 * responses. An empty text removes the token.
 */
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

/**
 * Sends a request with the panel's headers. Throws `Unreachable` if no response arrives, and `AbortError` if the caller
 * aborts.
 */
async function send(request: Request): Promise<Response> {
  if (request.method !== 'GET' && csrfToken !== '') request.headers.set('X-CSRF-Token', csrfToken);
  if (request.method === 'GET' && !isUserActive()) request.headers.set('X-Unattended', '1');
  try {
    return await fetch(request);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Unreachable('No response came', { cause: error });
  }
}

/**
 * Returns the gate that a rejected request requires: sign-in or confirmation. Null if the response requires neither.
 */
async function requiredGate(response: Response): Promise<{ kind: GateKind; methods: readonly string[] } | null> {
  if (response.status !== 401 && response.status !== 403) return null;
  const body = (await response
    .clone()
    .json()
    .catch(() => ({}))) as { code?: string; confirm_with?: readonly string[] };
  const kind = GATES_BY_CODE.get(body.code ?? '');
  return kind === undefined ? null : { kind, methods: body.confirm_with ?? [] };
}

/**
 * Sends a request. If the API requires a sign-in or confirmation, waits for the user and sends the request again. If
 * the user cancels, returns the original response.
 */
async function gatedFetch(request: Request): Promise<Response> {
  const retryRequest = request.clone();
  const response = await send(request);
  const gate = await requiredGate(response);
  if (gate === null || (gate.kind === 'sign_in' && SIGN_IN_REQUESTS.test(new URL(request.url).pathname)))
    return response;
  if (!(await passGate(gate.kind, gate.methods))) return response;
  return send(retryRequest);
}

export const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin', fetch: gatedFetch });

/** Result of a method of `api`. */
interface ApiResult<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** Response body with the version of the object. */
export interface Versioned<T> {
  readonly data: T;
  /** Value for `If-Match`. Null if the response has no ETag. */
  readonly etag: string | null;
}

/**
 * Returns the body and version of a response. Throws `ApiProblem` for an error status, and `Unreachable` if no response
 * arrives.
 */
export async function unwrapVersioned<T>(call: Promise<ApiResult<T>>): Promise<Versioned<T>> {
  const { data, error, response } = await call;
  if (!response.ok) throw new ApiProblem(response, error);
  return { data: data as T, etag: response.headers.get('ETag') };
}

/** Returns the body of a response. Throws the same errors as `unwrapVersioned`. */
export const unwrap = async <T>(call: Promise<ApiResult<T>>): Promise<T> => (await unwrapVersioned(call)).data;

/** Returns the `Idempotency-Key` header. The API carries out a request and its retries with the same ID only once. */
export const idempotencyKeyHeader = (requestId: string): Record<string, string> => ({ 'Idempotency-Key': requestId });

/**
 * Returns the `If-Match` header, with which the API rejects a change if the object has another version. Returns no
 * header for null.
 */
export const ifMatchHeader = (etag: string | null): Record<string, string> =>
  etag === null ? {} : { 'If-Match': etag };
