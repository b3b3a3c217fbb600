/** Starts every request of the admin listener: client address, response headers, and checks of Host and network. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { clientAddress, trustsOf, type Trusts } from '../../keys/clients/client-address.js';
import { Problem } from '../../platform/problems/errors.js';
import type { AdminNetworks } from './admin-networks.js';
import { hostRefusal } from './host-check.js';
import type { SecurityHeaders } from './security-headers.js';

/** Routes that skip the Host check, because probes connect by address. They are called every few seconds. */
const HEALTH_ROUTES = new Set(['/livez', '/readyz', '/metrics']);

/** Dependencies of `Arrivals`. */
export interface ArrivalParts {
  /** Undefined: a health listener, which accepts every Host. */
  readonly admin: { readonly settings: () => AdminConfig; readonly url: () => string } | undefined;
  readonly networks: AdminNetworks | undefined;
  readonly headers: SecurityHeaders;
}

/** Arrivals begins every request. */
export class Arrivals {
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trusts: Trusts | undefined;

  constructor(private readonly parts: ArrivalParts) {
    this.trusts = trustsOf(parts.admin?.settings().trustedProxies ?? []);
  }

  /** Sets the client address and the response headers. Returns the problem that keeps the request from its handler. */
  begin(request: FastifyRequest, reply: FastifyReply): Problem | undefined {
    const told = request.headers['x-forwarded-for'];
    const ip = clientAddress(
      request.raw.socket.remoteAddress,
      told === undefined ? undefined : String(told),
      this.trusts,
    );
    // Fastify's own parsing accepts values that are not addresses.
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
      return new Problem('route_not_found', { detail: 'This path does not exist.' });
    }
    return isHealth || admin === undefined ? undefined : hostRefusal(host, admin.settings(), admin.url());
  }
}
