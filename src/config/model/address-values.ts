/** Defines schemas for hosts, URLs, networks and paths in `gateway.yaml`. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { networkFault, type NetworkFault, plainNetwork } from '../../platform/network-list.js';

export const TARGET_MESSAGE = 'must be an http:// or https:// URL';
export const TARGET_HOST_MESSAGE = 'must have a host of letters, digits, dots, - and _';
export const CREDENTIALS_MESSAGE = 'must not carry a user name or password';
export const TWICE_MESSAGE = 'is in the list twice';
export const HOST_MESSAGE = 'must be an address such as 0.0.0.0, or a host name';
export const BASE_PATH_MESSAGE = 'must be a lower-case path such as /api/v1';
export const PATH_MESSAGE = 'must be a path that begins with /';
export const ADDRESS_MESSAGE = 'must be an address or a block such as 10.0.0.0/8';
export const HOST_BITS_MESSAGE = 'has host bits set';
export const MAPPED_MESSAGE = 'is an IPv4-mapped block with a prefix below 96';
export const EVERY_ADDRESS_MESSAGE = 'is every address: any client could then name its own';
export const ORIGIN_MESSAGE =
  'must be "*" or an origin such as https://app.example.com, in lower case and without a slash behind it';

/** Matches a host name of DNS or Docker. Names in Docker can have underscores. */
const HOST_NAME = /^(?=.*[A-Za-z_-])[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?\.?$/;
const QUERY_MESSAGE = 'must not have a query or a fragment: a path is kept as a prefix, nothing more';

/** Messages for invalid networks, by reason of the fault. */
export const NETWORK_MESSAGES: Readonly<Record<NetworkFault['reason'], string>> = {
  syntax: ADDRESS_MESSAGE,
  host_bits: HOST_BITS_MESSAGE,
  mapped_prefix: MAPPED_MESSAGE,
};

/** Schema of an IP address or a CIDR block. */
export const address = z
  .union(
    [z.ipv4(ADDRESS_MESSAGE), z.ipv6(ADDRESS_MESSAGE), z.cidrv4(ADDRESS_MESSAGE), z.cidrv6(ADDRESS_MESSAGE)],
    ADDRESS_MESSAGE,
  )
  .superRefine((text, context) => {
    const fault = networkFault(text);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: NETWORK_MESSAGES[fault.reason] });
  });

/** Schema of the address or block of a trusted proxy. Blocks of all addresses (prefix length 0) are invalid. */
export const proxyAddress = address.refine((text) => prefixOf(text) > 0, EVERY_ADDRESS_MESSAGE);

/**
 * Returns the prefix length of a block, or infinity for a single address. For an IPv4-mapped block, returns the prefix
 * length of the IPv4 block.
 */
export function prefixOf(block: string): number {
  const [, prefix = Infinity] = plainNetwork(block).split('/');
  return Number(prefix);
}

/** Schema of the URL of a backend. A path is a prefix of the paths of requests. */
const target = z
  .url({ protocol: /^https?$/, error: TARGET_MESSAGE })
  .refine((text) => parseUrl(text)?.username === '' && parseUrl(text)?.password === '', CREDENTIALS_MESSAGE)
  .refine((text) => !/[?#]/.test(text), QUERY_MESSAGE)
  .refine((text) => isHost(parseUrl(text)?.hostname.replaceAll(/^\[|\]$/g, '') ?? ''), TARGET_HOST_MESSAGE)
  .refine((text) => parseUrl(text)?.port !== '0', 'must have a port from 1 to 65535');

/** Schema of the targets of a service. A target must not occur twice. */
export const uniqueTargets = z
  .array(target)
  .min(1)
  .superRefine((list, context) => {
    const seen = new Set<string>();
    for (const [index, text] of list.entries()) {
      if (seen.has(text)) context.addIssue({ code: 'custom', message: TWICE_MESSAGE, path: [index] });
      seen.add(text);
    }
  });

/** Schema of the address or host name that a listener binds to. */
export const host = z.string().refine(isHost, HOST_MESSAGE);

/** Matches base paths. `basePath` additionally rejects `/docs` and the paths below it. */
export const BASE_PATH_PATTERN = /^(\/[a-z0-9][a-z0-9._-]*)+$/;

/** Schema of the path prefix of all operations of an API. The API reference uses `/docs` and the paths below it. */
export const basePath = z
  .string()
  .regex(BASE_PATH_PATTERN, BASE_PATH_MESSAGE)
  .refine(
    (path) => path !== '/docs' && !path.startsWith('/docs/'),
    '/docs belongs to the gateway: its pages are there',
  );

/** Schema of an origin exactly as browsers send it (RFC 6454 section 6.2), or `*`. */
export const origin = z.string().refine((text) => text === '*' || parseUrl(text)?.origin === text, ORIGIN_MESSAGE);

function isHost(text: string): boolean {
  return isIP(text) !== 0 || HOST_NAME.test(text);
}

/** Reports whether a host is a loopback address, or a name that always resolves to a loopback address. */
export function isLoopbackHost(text: string): boolean {
  const plain = text.toLowerCase().replaceAll(/^\[|\]$|\.$/g, '');
  return plain === 'localhost' || plain.endsWith('.localhost') || plain === '::1' || /^127\.\d+\.\d+\.\d+$/.test(plain);
}

function parseUrl(text: string): URL | undefined {
  return URL.parse(text) ?? undefined;
}
