/** Typed client for the admin API. The session cookie authenticates its requests. */
import createClient from 'openapi-fetch';
import type { paths } from './admin-api.js';
import { isUserActive } from './user-activity.js';
import { passGate, type GateKind } from './gate.js';
import { ApiProblem, Unreachable } from './problem.js';

/** Error codes that the user can resolve in a dialog, with the kind of dialog. */
const GATES_BY_CODE: ReadonlyMap<string, GateKind> = new Map([
  ['session_ended', 'sign_in'],
  ['missing_credentials', 'sign_in'],
  ['confirmation_required', 'confirm'],
]);
/** Requests around sign-in and sign-out. Their callers handle a missing session, so no dialog opens for them. */
const SIGN_IN_REQUESTS = /^\/admin\/v1\/(?:sign-in|links|sign-out|confirmations|me$)/;

let csrfToken = '';

/** Stores the CSRF token, which all requests except GET send. `GET me` and sign-in return the token. */
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

/** Sends a request with the panel's headers. Throws `Unreachable` if no response arrives. */
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

/** Returns the gate that a rejected request requires: sign-in or confirmation. Null for other responses. */
async function requiredGate(response: Response): Promise<{ kind: GateKind; ways: readonly string[] } | null> {
  if (response.status !== 401 && response.status !== 403) return null;
  const body = (await response
    .clone()
    .json()
    .catch(() => ({}))) as { code?: string; confirm_with?: readonly string[] };
  const kind = GATES_BY_CODE.get(body.code ?? '');
  return kind === undefined ? null : { kind, ways: body.confirm_with ?? [] };
}

/** Sends a request. If the API requires a sign-in or confirmation, waits for the user and sends the request again. */
async function gatedFetch(request: Request): Promise<Response> {
  const retryRequest = request.clone();
  const response = await send(request);
  const gate = await requiredGate(response);
  if (gate === null || (gate.kind === 'sign_in' && SIGN_IN_REQUESTS.test(new URL(request.url).pathname)))
    return response;
  if (!(await passGate(gate.kind, gate.ways))) return response;
  return send(retryRequest);
}

export const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin', fetch: gatedFetch });

/** Result of a call of `api`. */
interface ApiResult<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** A response body with the version of the object. */
export interface Versioned<T> {
  readonly data: T;
  /** Value for `If-Match`. Null if the response has no ETag. */
  readonly etag: string | null;
}

/**
 * Returns the body and version of a response. Throws `ApiProblem` for an error status, and `Unreachable` if no response
 * arrived.
 */
export async function unwrapVersioned<T>(call: Promise<ApiResult<T>>): Promise<Versioned<T>> {
  const { data, error, response } = await call;
  if (!response.ok) throw new ApiProblem(response, error);
  return { data: data as T, etag: response.headers.get('ETag') };
}

/** Returns the body of a response. Throws as `unwrapVersioned` does. */
export const unwrap = async <T>(call: Promise<ApiResult<T>>): Promise<T> => (await unwrapVersioned(call)).data;

/** Returns the `Idempotency-Key` header. The API does not carry out a retry with the same ID a second time. */
export const idempotencyKeyHeader = (requestId: string): Record<string, string> => ({ 'Idempotency-Key': requestId });

/** Returns the `If-Match` header: the API rejects the change if the object has another version. None for null. */
export const ifMatchHeader = (etag: string | null): Record<string, string> =>
  etag === null ? {} : { 'If-Match': etag };
