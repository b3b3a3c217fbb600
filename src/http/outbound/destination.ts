/**
 * Judges the URL of a destination that a stranger has chosen, by its text alone: what passes is a scheme, a host and a
 * port that mean the same to everybody who reads them. Where a name leads to is judged when it is connected to.
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
/** Scheme and authority as they are written: `URL` mends too much of them. */
const WRITTEN = /^(https?):\/\/([^/?#]+)(?:[/?#]|$)/i;
const AUTHORITY = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/;
const PORT = /^[1-9]\d{0,4}$/;
const LARGEST_PORT = 65_535;

/** Last labels under which nobody on the internet has a name (RFC 6761, 6762, 8375, 9476; ICANN 2018 and 2024). */
const NOT_PUBLIC = /(?:^|\.)(?:localhost|local|internal|home\.arpa|invalid|test|example|onion|alt|corp|home|lan|mail)$/;

/** What an operator allows. */
export interface OutboundOptions {
  /** Also `http:`, for development. */
  readonly allowHttp: boolean;
  /** CIDR blocks that are not public and may be connected to all the same. */
  readonly allowPrivateNetworks: readonly string[];
  /** CIDR blocks that are never connected to, also where they are public or within what is allowed. */
  readonly denyNetworks?: readonly string[] | undefined;
  /** The only ports; undefined: any that no other protocol is known by. */
  readonly allowPorts?: readonly number[] | undefined;
}

/** OutboundRules is what destinations and addresses are judged by. */
export interface OutboundRules {
  readonly allowHttp: boolean;
  readonly networks: NetworkList | undefined;
  readonly denied: NetworkList | undefined;
  readonly ports: ReadonlySet<number> | undefined;
}

/** A place to connect to. */
export interface Destination {
  readonly isSecure: boolean;
  /** A name in ASCII and lower case, or an address without brackets. */
  readonly host: string;
  readonly isAddress: boolean;
  readonly port: number;
  /** `host` with the port where it is not the scheme's own, as the `Host` field has it. */
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
}

/** Makes rules of what the configuration says. */
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
 * Reads a URL.
 * @throws OutboundRefused where nothing is to be connected to.
 */
export function parseDestination(text: string, rules: OutboundRules): Destination {
  if (text.length > LONGEST_URL) throw new OutboundRefused('too_long');
  const url = parseUrl(text);
  const [, scheme = '', authority = ''] = WRITTEN.exec(text) ?? [];
  const isSecure = scheme.toLowerCase() === 'https';
  if (!isSecure && !rules.allowHttp) throw new OutboundRefused('scheme');
  if (authority.includes('@')) throw new OutboundRefused('userinfo');
  if (text.includes('#')) throw new OutboundRefused('fragment');
  const [, writtenHost = '', writtenPort] = AUTHORITY.exec(authority) ?? [];
  const port = portOf(writtenPort, isSecure, rules);
  const refusal = misspelling(writtenHost, url.hostname);
  if (refusal !== undefined) throw new OutboundRefused(refusal, refusal === 'host_spelling' ? url.hostname : undefined);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isAddress = isIP(host) !== 0;
  if (isAddress) checkAddress(host, rules);
  else checkName(host, rules);
  return { isSecure, host, isAddress, port, authority: url.host, path: `${url.pathname}${url.search}` };
}

/** @throws OutboundRefused where no connection may lead to the address. */
export function checkAddress(address: string, rules: OutboundRules): void {
  const reason = refusedAddress(address, rules.networks, rules.denied);
  if (reason !== undefined) throw new OutboundRefused(reason, address);
}

function parseUrl(text: string): URL {
  // `URL` takes spaces, tabs and line ends out, and a backslash for a slash.
  const hasMended = /[\s\\\p{Cc}\p{Cf}]/u.test(text);
  const url = hasMended ? null : URL.parse(text);
  if (url === null) throw new OutboundRefused('not_a_url');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new OutboundRefused('scheme');
  // `https:example.com` and `https:///example.com` are mended, too.
  if (!WRITTEN.test(text)) throw new OutboundRefused('not_a_url');
  return url;
}

function portOf(written: string | undefined, isSecure: boolean, { ports }: OutboundRules): number {
  if (written !== undefined && !PORT.test(written)) throw new OutboundRefused('port');
  const port = written === undefined ? (isSecure ? 443 : 80) : Number(written);
  const isAllowed = ports === undefined ? !BAD_PORTS.has(port) : ports.has(port);
  if (!isAllowed || port > LARGEST_PORT) throw new OutboundRefused('port', String(port));
  return port;
}

/** A host is written as it is used, but for its case and the letters of its language. */
function misspelling(written: string, used: string): UrlReason | undefined {
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
  // Where private networks are allowed such names have their use, and their addresses are judged in any case.
  if (networks === undefined && (labels.length === 1 || NOT_PUBLIC.test(name)))
    throw new OutboundRefused('name_not_public');
}
