/**
 * Finds the account of a request. Below `/admin/v1/accounts/{id}` the path names it. Every other controller of account
 * resources declares with `@OfAccount` where the id is.
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
  /** Reads the id. Guards run before validation, so the value can be anything. */
  readonly read: (request: FastifyRequest) => unknown;
}

/** Declares where a request names its resource. `read` may throw a `Problem` if the id is missing. */
export const OfAccount = (kind: Named['kind'], read: Place['read']): ClassDecorator =>
  SetMetadata(OF_ACCOUNT, { kind, read } satisfies Place);

/** Reads `{id}` from the path. */
export function inPath(request: FastifyRequest): unknown {
  return (request.params as Record<string, unknown>)['id'];
}

/** Returns a reader of a body field. */
export const inBody =
  (field: string) =>
  ({ body }: FastifyRequest): unknown => {
    if (body instanceof RefusedBody) throw body.problem;
    const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[field] : undefined;
    if (typeof value === 'string') return value;
    const errors = [{ pointer: `#/${field}`, detail: 'must be a string' }];
    throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
  };

/** Returns a reader of a query parameter that only operators may omit. */
export const inQuery =
  (parameter: string) =>
  ({ query }: FastifyRequest): unknown => {
    const value = (query as Record<string, unknown>)[parameter];
    if (value !== undefined) return value;
    throw invalidParameters([{ parameter, detail: 'must be given: only operators can query all accounts at once' }]);
  };

/**
 * Returns the resource that a request names; undefined if no such id can exist. Throws if the controller declares none.
 */
export function namedBy(context: ExecutionContext): Named | undefined {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  const place = Reflect.getMetadata(OF_ACCOUNT, context.getClass()) as Place | undefined;
  const isBelowAccounts = request.routeOptions.url?.startsWith(ACCOUNTS_PREFIX) === true;
  if (place === undefined && !isBelowAccounts) {
    throw new Error(`${context.getClass().name} is about an account and does not say which`);
  }
  const { kind, read } = place ?? { kind: 'account', read: inPath };
  const id = read(request);
  // PostgreSQL rejects text with NUL characters.
  if (typeof id !== 'string' || id.length > LONGEST_ID || id.includes('\0')) return undefined;
  return { kind, id };
}
