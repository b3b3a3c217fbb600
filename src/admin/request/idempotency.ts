/** `Idempotency-Key`: what a request that makes something is known by when it is sent again. */
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { AuditedChange, ChangeContext, ResponseRecord } from '../../records/audit-log.js';
import { writeBody, writeOutcome } from '../../idempotency/change-claims.js';
import { keyOf } from '../../idempotency/key-field.js';
import type { ClaimTerms } from '../../idempotency/record.js';
import { Problem } from '../../platform/problems/errors.js';

const claims = new WeakMap<FastifyRequest, ClaimTerms>();

/** Says that the request has claimed its key. */
export function setClaim(request: FastifyRequest, claim: ClaimTerms): void {
  claims.set(request, claim);
}

/** Returns the key of a request. @throws Problem `bad_request` where the field is not one key. */
export function idempotencyKeyOf(field: string, rawHeaders: readonly string[]): string {
  const key = keyOf(field, rawHeaders);
  if (typeof key === 'string') return key;
  throw new Problem('bad_request', { detail: key.message });
}

/** Returns the hash of method, path, query and body. */
export function fingerprintOf({ method, url, body }: FastifyRequest): string {
  return hash('sha256', JSON.stringify([method, url, body ?? null]), 'base64url');
}

/** What the change has to write down of the response; undefined where nobody will ask for it again. */
export function responseRecordOf(request: FastifyRequest): ResponseRecord | undefined {
  const claim = claims.get(request);
  if (claim === undefined) return undefined;
  return {
    complete: (trx, change) => writeOutcome(trx, claim, locationOf(change)),
    keep: (trx, body) => writeBody(trx, claim, body),
  };
}

/** For a change whose whole response may be told again: it holds no secret. */
export function toldAgain<T>(context: ChangeContext, bodyOf: (made: T) => object): ChangeContext {
  const { response } = context;
  if (response === undefined) return context;
  return { ...context, made: (trx, made) => response.keep(trx, bodyOf(made as T)) };
}

/** Changes of a member who is shown to operators alone. */
const FOR_OPERATORS: ReadonlySet<string> = new Set(['member.created', 'member.password_link_made']);

/** Where what was made can be read. */
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
