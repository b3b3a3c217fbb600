/** Checks who can reach the admin listener, and how the listener is protected. */
import type { AdminConfig } from '../model/admin-schema.js';
import { isLoopbackHost } from '../model/address-values.js';
import type { ConfigProblem } from '../model/problem.js';
import type { Environment } from '../model/schema.js';
import type { SourceDocument } from '../source/source-document.js';
import { valueAt } from './schema-problems.js';

/**
 * Checks that `host`, `url`, `tls` and `trustedProxies` of `admin` are consistent. Returns at most one problem.
 * @param value unvalidated `gateway.yaml`; it may have other problems
 */
export function adminProblems(source: SourceDocument, value: unknown): ConfigProblem[] {
  const setting = (name: string): unknown => valueAt(value, ['admin', name]);
  const [host, url, tls, proxies] = ['host', 'url', 'tls', 'trustedProxies'].map(setting);
  const isReachable = typeof host === 'string' && !isLoopbackHost(host);
  if (isReachable && url === undefined) {
    const hint =
      'add admin.url, such as https://admin.example.com; where only health and metrics are meant, use admin.health';
    return [
      source.problem(['admin', 'host'], `${host} is reached from other machines, and admin.url is missing`, hint),
    ];
  }
  if (typeof url !== 'string') return [];
  const hasTrustedProxies = Array.isArray(proxies) && proxies.length > 0;
  if (tls !== undefined && url.startsWith('http:')) {
    return [source.problem(['admin', 'url'], 'is http, but the listener has TLS', 'write https, or leave tls out')];
  }
  if (url.startsWith('https:') && tls === undefined && !hasTrustedProxies) {
    const hint = 'add admin.tls, or add the load balancer with TLS to admin.trustedProxies';
    return [source.problem(['admin', 'url'], 'is https, but neither this listener nor a trusted proxy has TLS', hint)];
  }
  return [];
}

/** Warns about routes of the admin listener that everyone who can reach the listener can use. */
export function adminWarnings(source: SourceDocument, admin: AdminConfig): ConfigProblem[] {
  // Other machines can reach a loopback host through a load balancer on this machine, if `admin.url` is public.
  if (isLoopbackHost(admin.host) && (admin.url === undefined || isLoopbackHost(new URL(admin.url).hostname))) return [];
  const location = admin.url === undefined ? ['admin', 'host'] : ['admin', 'url'];
  const warnings: ConfigProblem[] = [];
  if (admin.health === undefined && admin.healthNetworks === undefined) {
    const message = 'leaves /livez, /readyz and /metrics open to everybody who reaches it';
    const hint = 'give them a listener of their own with admin.health, or name who may ask in admin.healthNetworks';
    warnings.push(source.problem(location, message, hint));
  }
  if (admin.operatorNetworks === undefined) {
    const message =
      "leaves the operators' routes, and attempts to guess the operator token, open to everybody who reaches it";
    warnings.push(source.problem(location, message, 'name where operators come from in admin.operatorNetworks'));
  }
  return warnings;
}

/**
 * Warns if `DATABASE_URL` is set without a key to encrypt secrets. Several machines can share the database, so a key in
 * the data folder of one machine is not enough.
 */
export function secretsWarnings(source: SourceDocument, environment: Environment): ConfigProblem[] {
  if (environment.databaseUrl === undefined || environment.secretsKey !== undefined) return [];
  const message = 'DATABASE_URL is set and TRAILGATE_SECRETS_KEY is not: no webhooks, no authenticator apps';
  const hint = 'set TRAILGATE_SECRETS_KEY to the same 32 bytes in base64 on every machine: openssl rand -base64 32';
  return [source.problem(['admin'], message, hint)];
}
