/**
 * Under which names the admin listener may be asked. A page on the internet can let its own name lead to this machine
 * (DNS rebinding), and the browser would let it read what is answered there: but it asks under that name.
 */
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { isLoopbackHost } from '../../config/model/address-values.js';
import { Problem } from '../../platform/problems/errors.js';

/**
 * Finds the reason to refuse a request for its `Host`; none where it is ours, or where there is none, as only HTTP/1.0
 * may have it and no browser has. The port is not looked at: tunnels change it.
 */
export function hostRefusal(
  host: string | undefined,
  { hosts }: Pick<AdminConfig, 'hosts'>,
  url: string,
): Problem | undefined {
  if (host === undefined) return undefined;
  const name = nameOf(host);
  if (isLoopbackHost(name) || name === nameOf(new URL(url).host)) return undefined;
  if (hosts.some((own) => nameOf(own) === name)) return undefined;
  return new Problem('misdirected_request', {
    detail: `This listener is asked under ${url}, and under the names in admin.hosts of gateway.yaml.`,
  });
}

/** The host without its port, as names are compared: `Admin.Example.com:8081` → `admin.example.com`. */
function nameOf(host: string): string {
  const [, inBrackets, plain = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [undefined, undefined, host];
  return (inBrackets ?? plain).toLowerCase().replace(/\.$/, '');
}
