/**
 * Limits of requests to the admin API. A caller who has shown who they are is counted by session or token, everyone
 * else by network. So neither a program nor a flood without credentials locks the panel for its address.
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

/** Returns the options of Nest's guard, which stands behind the guard of credentials. */
export function callerLimits(
  storage: ThrottlerStorage,
  settings: () => Pick<AdminConfig, 'operatorRequestsPerMinute'>,
): ThrottlerModuleOptions {
  const limit = (context: ExecutionContext): number => {
    const [row] = countedFor(context.switchToHttp().getRequest());
    return row === THROTTLES.adminOperator ? settings().operatorRequestsPerMinute : row.limit;
  };
  return {
    throttlers: [{ name: 'default', ttl: THROTTLES.adminCaller.windowMs, limit, skipIf: isPublic }],
    storage,
    getTracker: (request) => keyOf(...countedFor(request as FastifyRequest)),
    // The stock key is one per route; the limit is meant for all of them together.
    generateKey: (_context, tracker) => tracker,
  };
}

/** Counts a request with a wrong token of any kind. Rejects with 429 where there were too many from this network. */
export function countWrongToken(storage: ThrottlerStorage, ip: string): Promise<void> {
  return countRefused(storage, THROTTLES.adminWrongTokens, ip, 'too_many_failed_attempts', 'Too many wrong tokens');
}

/** Counts a request without valid credentials. Rejects with 429 where there were too many from this network. */
export function countAnonymous(storage: ThrottlerStorage, ip: string): Promise<void> {
  return countRefused(storage, THROTTLES.adminAnonymous, ip, 'too_many_requests', 'Too many requests');
}

async function countRefused(
  storage: ThrottlerStorage,
  row: ThrottleRow,
  ip: string,
  code: ErrorCode,
  what: string,
): Promise<void> {
  const { windowMs, limit, name } = row;
  const counted = await storage.increment(keyOf(row, clientNetwork(ip)), windowMs, limit, windowMs, name);
  if (!counted.isBlocked) return;
  const seconds = String(counted.timeToBlockExpire);
  throw new Problem(code, {
    detail: `${what} from this address. Wait ${seconds} seconds.`,
    headers: ['Retry-After', seconds],
  });
}

/** Returns the row that a request is counted by, and its key there. */
function countedFor(request: FastifyRequest): readonly [ThrottleRow, string] {
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

/** Builds the key that `Limiter.increment` reads. */
function keyOf({ name }: ThrottleRow, key: string): string {
  return `${name}:${key}`;
}
