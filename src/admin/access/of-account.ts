/**
 * Which account a request is about. Below `/admin/v1/accounts/{id}` the path says it; every other controller of
 * something of an account says with `@OfAccount` where its id stands.
 */
import { SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Named } from '../../members/account-access.js';
import { Problem } from '../../platform/problems/errors.js';
import { invalidParameters } from '../../platform/problems/parameter-problem.js';
import { RefusedBody } from '../../platform/problems/refused-body.js';

const OF_ACCOUNT = 'trailgate:of-account';
const ACCOUNTS_PREFIX = '/admin/v1/accounts/:id';
const LONGEST_ID = 100;

interface Place {
  readonly kind: Named['kind'];
  /** Guards run before anything is checked, so it reads what a stranger wrote. */
  readonly read: (request: FastifyRequest) => unknown;
}

/** Says where a request names what it is about. `read` may throw a `Problem` where it does not name it. */
export const OfAccount = (kind: Named['kind'], read: Place['read']): ClassDecorator =>
  SetMetadata(OF_ACCOUNT, { kind, read } satisfies Place);

/** `{id}` of the path. */
export function inPath(request: FastifyRequest): unknown {
  return (request.params as Record<string, unknown>)['id'];
}

/** A field of the body. */
export const inBody =
  (field: string) =>
  ({ body }: FastifyRequest): unknown => {
    if (body instanceof RefusedBody) throw body.problem;
    const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[field] : undefined;
    if (typeof value === 'string') return value;
    const errors = [{ pointer: `#/${field}`, detail: 'must be a string' }];
    throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
  };

/** A parameter of the query, which only operators may leave out. */
export const inQuery =
  (parameter: string) =>
  ({ query }: FastifyRequest): unknown => {
    const value = (query as Record<string, unknown>)[parameter];
    if (value !== undefined) return value;
    throw invalidParameters([{ parameter, detail: 'must be given: only operators may ask for all accounts at once' }]);
  };

/** What a request names; undefined where that can be nothing of ours. Throws for a controller that does not say it. */
export function namedBy(context: ExecutionContext): Named | undefined {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  const place = Reflect.getMetadata(OF_ACCOUNT, context.getClass()) as Place | undefined;
  const isBelowAccounts = request.routeOptions.url?.startsWith(ACCOUNTS_PREFIX) === true;
  if (place === undefined && !isBelowAccounts) {
    throw new Error(`${context.getClass().name} is about an account and does not say which`);
  }
  const { kind, read } = place ?? { kind: 'account', read: inPath };
  const id = read(request);
  // PostgreSQL takes no text with a NUL in it.
  if (typeof id !== 'string' || id.length > LONGEST_ID || id.includes('\0')) return undefined;
  return { kind, id };
}
