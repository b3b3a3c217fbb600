/**
 * Authenticates services that hand in events by `services.<name>.eventsToken`. Responds with 404 outside
 * `admin.operatorNetworks`, 401 without a valid token, and 429 for addresses that try too many tokens.
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

/** Returns the current tokens by service. */
export type ServiceTokens = () => ReadonlyMap<string, string>;

/** The service that was authenticated for each request. */
const SERVICES = new WeakMap<FastifyRequest, string>();

/** Returns the service that sent a request. Call it only behind the guard. */
export function serviceOf(request: FastifyRequest): string {
  const service = SERVICES.get(request);
  if (service === undefined) throw new Error('The request has not passed the guard.');
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
      throw new Problem('route_not_found', { detail: 'This path does not exist.' });
    }
    try {
      SERVICES.set(request, this.serviceWith(bearerToken(authorization)));
    } catch (error) {
      if (authorization !== undefined) await countWrongToken(this.storage, request.ip);
      throw error;
    }
    return true;
  }

  /** Finds the service of a token. Compares all tokens in constant time, so timing does not reveal a near match. */
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
      detail: 'The token is not the `eventsToken` of a service in gateway.yaml.',
      headers: ['WWW-Authenticate', `${CHALLENGE}, error="invalid_token"`],
    });
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
