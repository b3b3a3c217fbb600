/**
 * Lets services hand in events, each by the token that `services.<name>.eventsToken` says. 404 outside of
 * `admin.operatorNetworks`, as for operators; 401 without a token that is one of these, 429 for an address that keeps
 * trying.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ThrottlerStorage } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../../platform/problems/errors.js';
import { bearerToken, CHALLENGE } from '../access/bearer.js';
import { countWrongToken } from '../access/caller-limits.js';
import { AdminNetworks } from '../listener/admin-networks.js';

/** Injection token of `ServiceTokens`. */
export const SERVICE_TOKENS = Symbol('ServiceTokens');

/** The tokens in force, by service. */
export type ServiceTokens = () => ReadonlyMap<string, string>;

/** By request, the service whose token it has. */
const SERVICES = new WeakMap<FastifyRequest, string>();

/** The service that sends a request which the guard has let through. */
export function serviceOf(request: FastifyRequest): string {
  const service = SERVICES.get(request);
  if (service === undefined) throw new Error('No guard has looked at this request.');
  return service;
}

@Injectable()
export class EventsTokenGuard implements CanActivate {
  constructor(
    @Inject(SERVICE_TOKENS) private readonly tokens: ServiceTokens,
    @Inject(ThrottlerStorage) private readonly storage: ThrottlerStorage,
    private readonly networks: AdminNetworks,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { authorization } = request.headers;
    if (!this.networks.mayOperate(request.ip)) {
      throw new Problem('route_not_found', { detail: 'There is nothing at this path.' });
    }
    try {
      SERVICES.set(request, this.serviceWith(bearerToken(authorization)));
    } catch (error) {
      if (authorization !== undefined) await countWrongToken(this.storage, request.ip);
      throw error;
    }
    return true;
  }

  /** All are compared, each in the same time: which one is nearly right does not show. */
  private serviceWith(token: string | undefined): string {
    if (token === undefined) {
      const detail = "Send the service's token: Authorization: Bearer, one space, the token.";
      throw new Problem('missing_credentials', { detail, headers: ['WWW-Authenticate', CHALLENGE] });
    }
    const given = digest(token);
    const found = [...this.tokens()].filter(([, expected]) => timingSafeEqual(digest(expected), given));
    const [service] = found[0] ?? [];
    if (service !== undefined) return service;
    throw new Problem('invalid_credentials', {
      detail: 'This is no `eventsToken` of a service in gateway.yaml.',
      headers: ['WWW-Authenticate', `${CHALLENGE}, error="invalid_token"`],
    });
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
