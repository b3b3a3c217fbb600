/**
 * Validates destination URLs that a customer or another party has chosen, without resolving their names. Every URL
 * parser finds the same scheme, host and port in an accepted URL. The resolved addresses are checked when a connection
 * is opened.
 */
import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';
import type { NetworkList } from '../../platform/network-list.js';
import { namedNetworks, refusedAddress } from './address-rules.js';
import { OutboundRefused, type UrlReason } from './outbound-refused.js';
import { BAD_PORTS } from './bad-ports.js';

const LONGEST_URL = 2_048;
const LONGEST_NAME = 253;
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
/** Matches the scheme and authority as written. `URL` accepts and corrects malformed ones. */
const SCHEME_AND_AUTHORITY = /^(https?):\/\/([^/?#]+)(?:[/?#]|$)/i;
const AUTHORITY = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/;
const PORT = /^[1-9]\d{0,4}$/;
const LARGEST_PORT = 65_535;

/**
 * Matches domains that do not exist in the public DNS (RFC 6761, 6762, 7686, 8375 and 9476; ICANN 2018 and 2024). Also
 * matches `lan`, which home routers use.
 */
const NOT_PUBLIC = /(?:^|\.)(?:localhost|local|internal|home\.arpa|invalid|test|example|onion|alt|corp|home|lan|mail)$/;

export interface OutboundOptions {
  /** Whether `http:` URLs are allowed, for development. */
  readonly allowHttp: boolean;
  /** CIDR blocks that are allowed although they are not public. */
  readonly allowPrivateNetworks: readonly string[];
  /** CIDR blocks that are never allowed, even if they are public or within `allowPrivateNetworks`. */
  readonly denyNetworks?: readonly string[] | undefined;
  /** The allowed ports. Undefined to allow all ports except `BAD_PORTS`. */
  readonly allowPorts?: readonly number[] | undefined;
}

/** OutboundRules are the `OutboundOptions` in the form that the checks use. */
export interface OutboundRules {
  readonly allowHttp: boolean;
  /** Allowed private networks. Undefined if there are none. */
  readonly networks: NetworkList | undefined;
  /** Denied networks. Undefined if there are none. */
  readonly denied: NetworkList | undefined;
  /** Allowed ports. Undefined to allow all ports except `BAD_PORTS`. */
  readonly ports: ReadonlySet<number> | undefined;
}

export interface Destination {
  readonly isSecure: boolean;
  /** Host name in lower-case ASCII, or an IP address without brackets. */
  readonly host: string;
  readonly isAddress: boolean;
  readonly port: number;
  /** Value of the `Host` field: the host, with the port unless it is the default of the scheme. */
  readonly authority: string;
  /** Path and query of the URL. */
  readonly path: string;
}

export function outboundRules(options: OutboundOptions): OutboundRules {
  const { allowHttp, allowPrivateNetworks, denyNetworks = [], allowPorts } = options;
  return {
    allowHttp,
    networks: namedNetworks(allowPrivateNetworks),
    denied: namedNetworks(denyNetworks),
    ports: allowPorts === undefined ? undefined : new Set(allowPorts),
  };
}

/**
 * Parses and checks a destination URL.
 * @throws OutboundRefused if the URL is not allowed.
 */
export function parseDestination(text: string, rules: OutboundRules): Destination {
  if (text.length > LONGEST_URL) throw new OutboundRefused('too_long');
  const url = parseUrl(text);
  const [, scheme = '', authority = ''] = SCHEME_AND_AUTHORITY.exec(text) ?? [];
  const isSecure = scheme.toLowerCase() === 'https';
  if (!isSecure && !rules.allowHttp) throw new OutboundRefused('scheme');
  if (authority.includes('@')) throw new OutboundRefused('userinfo');
  if (text.includes('#')) throw new OutboundRefused('fragment');
  const [, writtenHost = '', writtenPort] = AUTHORITY.exec(authority) ?? [];
  const port = portOf(writtenPort, isSecure, rules);
  const refusal = hostReason(writtenHost, url.hostname);
  if (refusal !== undefined) throw new OutboundRefused(refusal, refusal === 'host_spelling' ? url.hostname : undefined);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isAddress = isIP(host) !== 0;
  if (isAddress) checkAddress(host, rules);
  else checkName(host, rules);
  return { isSecure, host, isAddress, port, authority: url.host, path: `${url.pathname}${url.search}` };
}

/**
 * Checks an IP address.
 * @throws OutboundRefused if the address is not allowed.
 */
export function checkAddress(address: string, rules: OutboundRules): void {
  const reason = refusedAddress(address, rules.networks, rules.denied);
  if (reason !== undefined) throw new OutboundRefused(reason, address);
}

function parseUrl(text: string): URL {
  // `URL` would remove tabs, line breaks and surrounding spaces, and would replace backslashes.
  const hasRepairedCharacters = /[\s\\\p{Cc}\p{Cf}]/u.test(text);
  const url = hasRepairedCharacters ? null : URL.parse(text);
  if (url === null) throw new OutboundRefused('not_a_url');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new OutboundRefused('scheme');
  // `URL` also corrects `https:example.com` and `https:///example.com`.
  if (!SCHEME_AND_AUTHORITY.test(text)) throw new OutboundRefused('not_a_url');
  return url;
}

function portOf(written: string | undefined, isSecure: boolean, { ports }: OutboundRules): number {
  if (written !== undefined && !PORT.test(written)) throw new OutboundRefused('port');
  const port = written === undefined ? (isSecure ? 443 : 80) : Number(written);
  const isAllowed = ports === undefined ? !BAD_PORTS.has(port) : ports.has(port);
  if (!isAllowed || port > LARGEST_PORT) throw new OutboundRefused('port', String(port));
  return port;
}

/**
 * Returns the reason why the spelling of a host is refused, or undefined. The spelling may differ from the normalized
 * form only in case, and in labels that are internationalized.
 * @param used the normalized form of the host, from `URL`
 */
function hostReason(written: string, used: string): UrlReason | undefined {
  const host = written.toLowerCase();
  if (host.startsWith('[')) return undefined;
  if (host.endsWith('.')) return 'trailing_dot';
  if (host === used) return undefined;
  const isInternational = used.includes('xn--') && domainToUnicode(used) === host.normalize('NFC');
  return isInternational ? undefined : 'host_spelling';
}

function checkName(name: string, { networks }: OutboundRules): void {
  const labels = name.split('.');
  if (name.length > LONGEST_NAME || !labels.every((label) => LABEL.test(label)))
    throw new OutboundRefused('name_malformed');
  // If private networks are allowed, local names are, too. Their addresses are checked in any case.
  if (networks === undefined && (labels.length === 1 || NOT_PUBLIC.test(name)))
    throw new OutboundRefused('name_not_public');
}
