/** The first that happens to a request of the admin listener: whose it is, and whether it is at the right door. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { clientAddress, trustsOf, type Trusts } from '../../keys/clients/client-address.js';
import { Problem } from '../../platform/problems/errors.js';
import type { AdminNetworks } from './admin-networks.js';
import { hostRefusal } from './host-check.js';
import type { SecurityHeaders } from './security-headers.js';

/** What health is asked by: probes know addresses, not names, and come every few seconds. */
const HEALTH_ROUTES = new Set(['/livez', '/readyz', '/metrics']);

/** What arrivals are judged by. */
export interface ArrivalParts {
  /** Undefined: a listener that has nothing but health, and is asked under any name. */
  readonly admin: { readonly settings: () => AdminConfig; readonly url: () => string } | undefined;
  readonly networks: AdminNetworks | undefined;
  readonly headers: SecurityHeaders;
}

/** Arrivals begins every request. */
export class Arrivals {
  /** Whom `X-Forwarded-For` is believed. */
  readonly trusts: Trusts | undefined;

  constructor(private readonly parts: ArrivalParts) {
    this.trusts = trustsOf(parts.admin?.settings().trustedProxies ?? []);
  }

  /** Gives the request its client's address, the response its fields; returns what keeps it from its handler. */
  begin(request: FastifyRequest, reply: FastifyReply): Problem | undefined {
    const told = request.headers['x-forwarded-for'];
    const ip = clientAddress(
      request.raw.socket.remoteAddress,
      told === undefined ? undefined : String(told),
      this.trusts,
    );
    // Fastify's own reading of the field takes what is no address.
    Object.defineProperty(request, 'ip', { value: ip });
    reply.header('X-Request-Id', request.id);
    reply.header('Cache-Control', 'no-store');
    this.parts.headers.setOn(reply);
    return this.refusalOf(request);
  }

  private refusalOf(request: FastifyRequest): Problem | undefined {
    const { admin, networks } = this.parts;
    const { host } = request.headers;
    if (host === undefined && request.raw.httpVersion !== '1.0') {
      return new Problem('bad_request', { detail: 'Send a Host header.' });
    }
    const isHealth = HEALTH_ROUTES.has(request.routeOptions.url ?? '');
    if (isHealth && networks?.mayAskForHealth(request.ip) === false) {
      return new Problem('route_not_found', { detail: 'There is nothing at this path.' });
    }
    return isHealth || admin === undefined ? undefined : hostRefusal(host, admin.settings(), admin.url());
  }
}
