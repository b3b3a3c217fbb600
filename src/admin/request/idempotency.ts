/** `Idempotency-Key`: what a request that makes something is known by when it is sent again. */
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { AuditedChange, ChangeContext, ResponseRecord } from '../../records/audit-log.js';
import { completeClaim, keepBody, type Claim } from '../../idempotency/idempotent-requests.js';
import { Problem } from '../../platform/problems/errors.js';
import { IDEMPOTENCY_KEY } from '../openapi/field-patterns.js';

const WELL_FORMED = new RegExp(IDEMPOTENCY_KEY);

const claims = new WeakMap<FastifyRequest, Claim>();

/** Says that the request has claimed its key. */
export function setClaim(request: FastifyRequest, claim: Claim): void {
  claims.set(request, claim);
}

/** The key, with or without quotes. Throws `bad_request` for what is none. */
export function idempotencyKeyOf(field: string): string {
  if (WELL_FORMED.test(field)) return field.startsWith('"') ? field.slice(1, -1) : field;
  throw new Problem('bad_request', {
    detail: 'Idempotency-Key must have 1 to 255 printable characters of ASCII, and no quotes in it: a UUID does.',
  });
}

/** What makes a request the same as another one. */
export function fingerprintOf({ method, url, body }: FastifyRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([method, url, body ?? null]))
    .digest('hex');
}

/** What the change has to write down of the response; undefined where nobody will ask for it again. */
export function responseRecordOf(request: FastifyRequest): ResponseRecord | undefined {
  const claim = claims.get(request);
  if (claim === undefined) return undefined;
  return {
    complete: (trx, change) => completeClaim(trx, claim, locationOf(change)),
    keep: (trx, body) => keepBody(trx, claim, body),
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
