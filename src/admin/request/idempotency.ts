/**
 * Parses `Idempotency-Key` headers of the admin API, computes fingerprints of requests, and stores responses for
 * retries.
 */
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { AuditedChange, ChangeContext, ResponseRecord } from '../../records/audit-log.js';
import { writeBody, writeOutcome } from '../../idempotency/change-claims.js';
import { keyOf } from '../../idempotency/key-field.js';
import type { ClaimTerms } from '../../idempotency/record.js';
import { Problem } from '../../platform/problems/errors.js';

const claims = new WeakMap<FastifyRequest, ClaimTerms>();

/** Stores the claim by which a request owns its idempotency key, for `responseRecordOf`. */
export function setClaim(request: FastifyRequest, claim: ClaimTerms): void {
  claims.set(request, claim);
}

/**
 * Returns the idempotency key of a request.
 * @param field value of the `Idempotency-Key` header
 * @throws Problem `bad_request` if the header is not exactly one key
 */
export function idempotencyKeyOf(field: string, rawHeaders: readonly string[]): string {
  const key = keyOf(field, rawHeaders);
  if (typeof key === 'string') return key;
  throw new Problem('bad_request', { detail: key.message });
}

/** Returns the SHA-256 of method, path, query and body, in base64url. Retries must have the same fingerprint. */
export function fingerprintOf({ method, url, body }: FastifyRequest): string {
  return hash('sha256', JSON.stringify([method, url, body ?? null]), 'base64url');
}

/**
 * Returns the writer that stores the response in the transaction of the change. Undefined for requests without a claim.
 */
export function responseRecordOf(request: FastifyRequest): ResponseRecord | undefined {
  const claim = claims.get(request);
  if (claim === undefined) return undefined;
  return {
    complete: (trx, change) => writeOutcome(trx, claim, locationOf(change)),
    storeBody: (trx, body) => writeBody(trx, claim, body),
  };
}

/**
 * Returns a context whose `storeResponse` stores the response body for retries, in the transaction of the change.
 * Stores must not call `storeResponse` if the response contains a secret. Without a stored body, a retry gets
 * `idempotency_secret_shown`.
 * @param bodyOf returns the response body for the created value
 */
export function storeResponseBody<T>(context: ChangeContext, bodyOf: (made: T) => object): ChangeContext {
  const { response } = context;
  if (response === undefined) return context;
  return { ...context, storeResponse: (trx, made) => response.storeBody(trx, bodyOf(made as T)) };
}

/**
 * Actions for which `locationOf` returns the path of a member. Only operators can perform these actions and read the
 * path.
 */
const MEMBER_RESOURCE_ACTIONS: ReadonlySet<string> = new Set(['member.created', 'member.password_link_made']);

/** Returns the path of the created resource, or of its list. Null if the resource has no path. */
function locationOf({ targetType, targetId, accountId, action }: AuditedChange): string | null {
  switch (targetType) {
    case 'member':
      return MEMBER_RESOURCE_ACTIONS.has(action) ? `/admin/v1/members/${targetId}` : null;
    case 'account':
      return `/admin/v1/accounts/${targetId}`;
    case 'api_key':
      return `/admin/v1/api-keys/${targetId}`;
    case 'webhook_endpoint':
      return `/admin/v1/webhook-endpoints/${targetId}`;
    case 'invitation':
      return `/admin/v1/accounts/${accountId}/invitations`;
    case 'account_token':
      return `/admin/v1/accounts/${accountId}/tokens`;
    default:
      return null;
  }
}
