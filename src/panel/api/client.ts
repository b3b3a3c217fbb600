/** Typed client of the admin API. The session cookie authenticates it. */
import createClient from 'openapi-fetch';
import type { paths } from './admin-api.js';
import { isUserActive } from './user-activity.js';
import { passGate, type GateKind } from './gate.js';
import { ApiProblem, Unreachable } from './problem.js';

const SESSION_CODES: ReadonlyMap<string, GateKind> = new Map([
  ['session_ended', 'sign_in'],
  ['missing_credentials', 'sign_in'],
  ['confirmation_required', 'confirm'],
]);
/** Requests of the sign-in itself. Their callers handle a missing session. */
const SIGN_IN_REQUESTS = /^\/admin\/v1\/(?:sign-in|links|sign-out|confirmations|me$)/;

let csrfToken = '';

/** Stores the CSRF token for changes. `GET me` and sign-in return it. */
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

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

/** Returns which gate a rejected request needs (sign-in or confirmation); null for other problems. */
async function requiredGate(response: Response): Promise<{ kind: GateKind; ways: readonly string[] } | null> {
  if (response.status !== 401 && response.status !== 403) return null;
  const body = (await response
    .clone()
    .json()
    .catch(() => ({}))) as { code?: string; confirm_with?: readonly string[] };
  const kind = SESSION_CODES.get(body.code ?? '');
  return kind === undefined ? null : { kind, ways: body.confirm_with ?? [] };
}

async function gatedFetch(request: Request): Promise<Response> {
  const again = request.clone();
  const response = await send(request);
  const wanted = await requiredGate(response);
  if (wanted === null || (wanted.kind === 'sign_in' && SIGN_IN_REQUESTS.test(new URL(request.url).pathname)))
    return response;
  if (!(await passGate(wanted.kind, wanted.ways))) return response;
  return send(again);
}

export const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin', fetch: gatedFetch });

interface Called<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** A response body with its version for `If-Match`. */
export interface Versioned<T> {
  readonly data: T;
  readonly etag: string | null;
}

/**
 * Returns the body and version of a response. Throws `ApiProblem` for a rejection and `Unreachable` without a response.
 */
export async function unwrapVersioned<T>(call: Promise<Called<T>>): Promise<Versioned<T>> {
  const { data, error, response } = await call;
  if (!response.ok) throw new ApiProblem(response, error);
  return { data: data as T, etag: response.headers.get('ETag') };
}

/** Returns the body of a response. Throws as `unwrapVersioned` does. */
export const unwrap = async <T>(call: Promise<Called<T>>): Promise<T> => (await unwrapVersioned(call)).data;

/** Returns the idempotency key header. A retry with the same id after a lost response is not carried out twice. */
export const once = (requestId: string): Record<string, string> => ({ 'Idempotency-Key': requestId });

/** Returns the header that limits a change to the version that was read. */
export const onlyIf = (etag: string | null): Record<string, string> => (etag === null ? {} : { 'If-Match': etag });
