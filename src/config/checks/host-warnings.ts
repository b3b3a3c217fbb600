/** Warns if only `api.publicUrl` restricts the hosts of requests. Probes and proxies often use another name. */
import { acceptedHosts } from '../model/accepted-hosts.js';
import { isLoopbackHost } from '../model/address-values.js';
import type { ConfigProblem } from '../model/problem.js';
import type { GatewayFile } from '../model/schema.js';
import type { SourceDocument } from '../source/source-document.js';

/** Maximum number of names in the warning. */
const MOST_NAMED = 3;

/** Returns the warning, located at `api.publicUrl`. None if `gateway.hosts` is set. */
export function hostWarnings(source: SourceDocument, file: GatewayFile): ConfigProblem[] {
  const { publicUrl } = file.api;
  // Whoever names the hosts of each API has thought of them.
  if (file.apis !== undefined || publicUrl === undefined || file.gateway.hosts.length > 0) return [];
  if (isLoopbackHost(new URL(publicUrl).hostname)) return [];
  const names = acceptedHosts(file) ?? [];
  const others = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return [
    source.problem(
      ['api', 'publicUrl'],
      `lets the gateway serve requests for ${names.slice(0, MOST_NAMED).join(', ')}${others} only: any other host ` +
        'gets 421, an IP address too',
      'name the hosts that clients, proxies and probes use under `gateway.hosts`, be it this one alone',
    ),
  ];
}
