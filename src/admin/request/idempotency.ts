/** `Idempotency-Key` of admin requests: parsing, fingerprint, and the stored response. */
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { AuditedChange, ChangeContext, ResponseRecord } from '../../records/audit-log.js';
import { writeBody, writeOutcome } from '../../idempotency/change-claims.js';
import { keyOf } from '../../idempotency/key-field.js';
import type { ClaimTerms } from '../../idempotency/record.js';
import { Problem } from '../../platform/problems/errors.js';

const claims = new WeakMap<FastifyRequest, ClaimTerms>();

/** Marks the request as owner of its key. */
export function setClaim(request: FastifyRequest, claim: ClaimTerms): void {
  claims.set(request, claim);
}

/**
 * Returns the idempotency key of a request.
 * @throws Problem `bad_request` if the field is not exactly one key.
 */
export function idempotencyKeyOf(field: string, rawHeaders: readonly string[]): string {
  const key = keyOf(field, rawHeaders);
  if (typeof key === 'string') return key;
  throw new Problem('bad_request', { detail: key.message });
}

/** Returns the hash of method, path, query and body. */
export function fingerprintOf({ method, url, body }: FastifyRequest): string {
  return hash('sha256', JSON.stringify([method, url, body ?? null]), 'base64url');
}

/** Returns the writer that stores the response in the change's transaction; undefined for requests without a key. */
export function responseRecordOf(request: FastifyRequest): ResponseRecord | undefined {
  const claim = claims.get(request);
  if (claim === undefined) return undefined;
  return {
    complete: (trx, change) => writeOutcome(trx, claim, locationOf(change)),
    keep: (trx, body) => writeBody(trx, claim, body),
  };
}

/** Makes the change store its whole response for retries. Use it only for responses without a secret. */
export function storeResponseBody<T>(context: ChangeContext, bodyOf: (made: T) => object): ChangeContext {
  const { response } = context;
  if (response === undefined) return context;
  return { ...context, made: (trx, made) => response.keep(trx, bodyOf(made as T)) };
}

/** Actions on members whose resource only operators can read. */
const FOR_OPERATORS: ReadonlySet<string> = new Set(['member.created', 'member.password_link_made']);

/** Returns the path of the created resource; null if it has none. */
function locationOf({ targetType, targetId, accountId, action }: AuditedChange): string | null {
  switch (targetType) {
    case 'member':
      return FOR_OPERATORS.has(action) ? `/admin/v1/members/${targetId}` : null;
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
