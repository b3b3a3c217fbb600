/**
 * Limits requests to the admin API, per session or token for authenticated callers, and per network for all others. A
 * flood of requests without credentials therefore cannot lock out signed-in users of the same network.
 */
import type { ExecutionContext } from '@nestjs/common';
import type { ThrottlerModuleOptions, ThrottlerStorage } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { clientNetwork } from '../../keys/client-network.js';
import { THROTTLES, type ThrottleRow } from '../../quota/model/throttle-rows.js';
import { Problem, type ErrorCode } from '../../platform/problems/errors.js';
import { principalOf } from './principal.js';
import { isPublic } from './public.js';

/**
 * Returns the options of Nest's throttler guard. The guard must run after the credentials guard, because the limit
 * depends on the caller.
 */
export function callerLimits(
  storage: ThrottlerStorage,
  settings: () => Pick<AdminConfig, 'operatorRequestsPerMinute'>,
): ThrottlerModuleOptions {
  const limit = (context: ExecutionContext): number => {
    const [row] = throttleRowFor(context.switchToHttp().getRequest());
    return row === THROTTLES.adminOperator ? settings().operatorRequestsPerMinute : row.limit;
  };
  return {
    throttlers: [{ name: 'default', ttl: THROTTLES.adminCaller.windowMs, limit, skipIf: isPublic }],
    storage,
    getTracker: (request) => keyOf(...throttleRowFor(request as FastifyRequest)),
    // Nest counts each route separately by default. Count all routes together.
    generateKey: (_context, tracker) => tracker,
  };
}

/**
 * Adds a request with a rejected token to the count of its network. Rejects with `too_many_failed_attempts` and
 * `Retry-After` if the network exceeds its limit.
 */
export function countWrongToken(storage: ThrottlerStorage, ip: string): Promise<void> {
  return countRejected(storage, THROTTLES.adminWrongTokens, ip, 'too_many_failed_attempts', 'Too many invalid tokens');
}

/**
 * Adds a request without a token and without a valid session to the count of its network. Rejects with
 * `too_many_requests` and `Retry-After` if the network exceeds its limit.
 */
export function countAnonymous(storage: ThrottlerStorage, ip: string): Promise<void> {
  return countRejected(storage, THROTTLES.adminAnonymous, ip, 'too_many_requests', 'Too many requests');
}

async function countRejected(
  storage: ThrottlerStorage,
  row: ThrottleRow,
  ip: string,
  code: ErrorCode,
  message: string,
): Promise<void> {
  const { windowMs, limit, name } = row;
  const counted = await storage.increment(keyOf(row, clientNetwork(ip)), windowMs, limit, windowMs, name);
  if (!counted.isBlocked) return;
  const seconds = String(counted.timeToBlockExpire);
  throw new Problem(code, {
    detail: `${message} from this address. Wait ${seconds} seconds.`,
    headers: ['Retry-After', seconds],
  });
}

/** Returns the throttle that counts a request, and the key by which the throttle counts the caller. */
function throttleRowFor(request: FastifyRequest): readonly [ThrottleRow, string] {
  const principal = principalOf(request);
  switch (principal.kind) {
    case 'operator':
      return [THROTTLES.adminOperator, 'token'];
    case 'token':
      return [THROTTLES.adminCaller, principal.token.id];
    case 'member':
    case 'portal':
      return [THROTTLES.adminCaller, principal.session.id];
    case 'nobody':
      return [THROTTLES.adminAnonymous, clientNetwork(request.ip)];
  }
}

/** Returns `<throttle>:<caller>`, which `Limiter.increment` splits again. */
function keyOf({ name }: ThrottleRow, key: string): string {
  return `${name}:${key}`;
}
