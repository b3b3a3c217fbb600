/**
 * Authenticates services that submit events, by their token `services.<name>.eventsToken`. Responds with 404 outside
 * `admin.operatorNetworks`, with 400 to a malformed header, and with 401 without a valid token. Networks that send too
 * many invalid tokens get 429.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ThrottlerStorage } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../../platform/problems/errors.js';
import { bearerToken, CHALLENGE } from '../access/bearer.js';
import { countWrongToken } from '../access/caller-limits.js';
import { AdminNetworks } from '../listener/admin-networks.js';

/** Nest injection token of a `ServiceTokens` function. */
export const SERVICE_TOKENS = Symbol('ServiceTokens');

/** ServiceTokens returns the current tokens, by service name. */
export type ServiceTokens = () => ReadonlyMap<string, string>;

/** Names of the authenticated services, by request. */
const SERVICE_NAMES = new WeakMap<FastifyRequest, string>();

/** Returns the name of the service that sent a request. Throws if `EventsTokenGuard` has not admitted the request. */
export function serviceOf(request: FastifyRequest): string {
  const service = SERVICE_NAMES.get(request);
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
      SERVICE_NAMES.set(request, this.findService(bearerToken(authorization)));
    } catch (error) {
      if (authorization !== undefined) await countWrongToken(this.storage, request.ip);
      throw error;
    }
    return true;
  }

  /**
   * Returns the name of the service that has this token. Compares all tokens in constant time, so that timing reveals
   * nothing about the tokens.
   * @throws Problem `missing_credentials`, `invalid_credentials`
   */
  private findService(token: string | undefined): string {
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
