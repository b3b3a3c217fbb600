/**
 * Finds the resource that a request names, whose account decides the caller's permissions. Below
 * `/admin/v1/accounts/{id}`, the path names the account. Every other controller of account resources must declare how
 * to read the resource ID, with `@ResourceOfAccount`.
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

/** IdLocation says where the requests of a controller contain the resource ID. */
interface IdLocation {
  readonly kind: Named['kind'];
  /** Reads the ID from a request. Guards run before validation, so the value can be anything. */
  readonly read: (request: FastifyRequest) => unknown;
}

/** Declares the kind of a controller's resources and how to read their ID. `read` may throw a `Problem`. */
export const ResourceOfAccount = (kind: Named['kind'], read: IdLocation['read']): ClassDecorator =>
  SetMetadata(OF_ACCOUNT, { kind, read } satisfies IdLocation);

/** Reads `{id}` from the path. */
export function inPath(request: FastifyRequest): unknown {
  return (request.params as Record<string, unknown>)['id'];
}

/**
 * Returns a reader of a body field. The reader throws the problem of a `RefusedBody`, and `validation_failed` if the
 * field is not a string.
 */
export const inBody =
  (field: string) =>
  ({ body }: FastifyRequest): unknown => {
    if (body instanceof RefusedBody) throw body.problem;
    const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[field] : undefined;
    if (typeof value === 'string') return value;
    const errors = [{ pointer: `#/${field}`, detail: 'must be a string' }];
    throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
  };

/**
 * Returns a reader of a query parameter that only operators may omit. The reader throws `invalid_parameter` if the
 * parameter is missing.
 */
export const inQuery =
  (parameter: string) =>
  ({ query }: FastifyRequest): unknown => {
    const value = (query as Record<string, unknown>)[parameter];
    if (value !== undefined) return value;
    throw invalidParameters([{ parameter, detail: 'must be given: only operators can query all accounts at once' }]);
  };

/**
 * Returns the kind and ID of the resource that a request names. Undefined if the value cannot be an ID. Throws the
 * problem of the reader, and an `Error` if the controller declares no resource.
 */
export function requestedResourceOf(context: ExecutionContext): Named | undefined {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  const location = Reflect.getMetadata(OF_ACCOUNT, context.getClass()) as IdLocation | undefined;
  const isBelowAccounts = request.routeOptions.url?.startsWith(ACCOUNTS_PREFIX) === true;
  if (location === undefined && !isBelowAccounts) {
    throw new Error(`${context.getClass().name} is about an account and does not say which`);
  }
  const { kind, read } = location ?? { kind: 'account', read: inPath };
  const id = read(request);
  // No resource has an ID that is longer than `LONGEST_ID` or contains NUL. PostgreSQL would reject text with NUL
  // characters.
  if (typeof id !== 'string' || id.length > LONGEST_ID || id.includes('\0')) return undefined;
  return { kind, id };
}
