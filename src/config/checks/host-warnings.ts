/**
 * Warns if only `api.publicUrl` determines which host names requests can use. Health probes and proxies often use
 * another host name.
 */
import { acceptedHosts } from '../model/accepted-hosts.js';
import { isLoopbackHost } from '../model/address-values.js';
import type { ConfigProblem } from '../model/problem.js';
import type { GatewayFile } from '../model/schema.js';
import type { SourceDocument } from '../source/source-document.js';

/** Maximum number of host names in the warning. */
const MAX_NAMED = 3;

/**
 * Returns the warning, located at `api.publicUrl`. Returns no warning if `publicUrl` is unset or a loopback host, or if
 * `gateway.hosts` or `apis` is set.
 */
export function hostWarnings(source: SourceDocument, file: GatewayFile): ConfigProblem[] {
  const { publicUrl } = file.api;
  // With `apis`, the operator sets the hosts of each API.
  if (file.apis !== undefined || publicUrl === undefined || file.gateway.hosts.length > 0) return [];
  if (isLoopbackHost(new URL(publicUrl).hostname)) return [];
  const names = acceptedHosts(file) ?? [];
  const others = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return [
    source.problem(
      ['api', 'publicUrl'],
      `lets the gateway serve requests for ${names.slice(0, MAX_NAMED).join(', ')}${others} only: any other host ` +
        'gets 421, an IP address too',
      'name the hosts that clients, proxies and probes use under `gateway.hosts`, even if it is only this one',
    ),
  ];
}
