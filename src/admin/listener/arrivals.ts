/**
 * Prepares every request of the admin listener before its handler. Sets the client address and the response headers.
 * Rejects requests with a wrong Host header, and health requests from other networks than `admin.healthNetworks`.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { clientAddress, trustsOf, type Trusts } from '../../keys/clients/client-address.js';
import { Problem } from '../../platform/problems/errors.js';
import type { AdminNetworks } from './admin-networks.js';
import { hostRefusal } from './host-check.js';
import type { SecurityHeaders } from './security-headers.js';

/** Routes that skip the Host check, because probes connect by IP address. */
const HEALTH_ROUTES = new Set(['/livez', '/readyz', '/metrics']);

/** ArrivalParts has the dependencies of `RequestPreparation`. */
export interface ArrivalParts {
  /** Settings and URL of the admin listener. Undefined for a health listener, which accepts every Host. */
  readonly admin: { readonly settings: () => AdminConfig; readonly url: () => string } | undefined;
  /** Networks that may read health and metrics. Undefined for a health listener, which accepts every network. */
  readonly networks: AdminNetworks | undefined;
  readonly headers: SecurityHeaders;
}

/** RequestPreparation determines the client address of every request and checks the request. */
export class RequestPreparation {
  /**
   * Reports whether an address is a trusted proxy, whose `X-Forwarded-For` is used. Undefined if no proxy is trusted.
   */
  readonly trusts: Trusts | undefined;

  constructor(private readonly parts: ArrivalParts) {
    this.trusts = trustsOf(parts.admin?.settings().trustedProxies ?? []);
  }

  /**
   * Sets the client address and the response headers. Returns a problem if the request must be rejected, else
   * undefined.
   */
  begin(request: FastifyRequest, reply: FastifyReply): Problem | undefined {
    const forwardedFor = request.headers['x-forwarded-for'];
    const ip = clientAddress(
      request.raw.socket.remoteAddress,
      forwardedFor === undefined ? undefined : String(forwardedFor),
      this.trusts,
    );
    // Don't use Fastify's `trustProxy`, which accepts values that are not addresses.
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
    if (isHealth && networks?.mayReadHealth(request.ip) === false) {
      return new Problem('route_not_found', { detail: 'This path does not exist.' });
    }
    return isHealth || admin === undefined ? undefined : hostRefusal(host, admin.settings(), admin.url());
  }
}
