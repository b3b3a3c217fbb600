/** Defines the schema of `webhooks` in `gateway.yaml`, with the allowed destinations and the limits of deliveries. */
import { z } from 'zod';
import { plainNetwork } from '../../platform/network-list.js';
import { address, prefixOf } from './address-values.js';
import { duration } from './values.js';

export const NETWORK_SIZE_MESSAGE = 'is most of the internet: name the networks that your own receivers are in';
/**
 * Minimum prefix lengths of allowed private networks. Blocks with shorter prefixes also contain networks of others. The
 * largest private IPv6 block (RFC 4193) has a prefix of 7 bits.
 */
const MIN_PREFIX_BITS = { ipv4: 8, ipv6: 7 } as const;

const MIN_TIMEOUT_MS = 1_000;
/**
 * Maximum duration of an attempt. After 30 s, another process takes over the deliveries of a process that gives no sign
 * of life, so an attempt must not take longer.
 */
const MAX_TIMEOUT_MS = 30_000;

const network = address.refine(
  (text) => prefixOf(text) >= MIN_PREFIX_BITS[plainNetwork(text).includes(':') ? 'ipv6' : 'ipv4'],
  NETWORK_SIZE_MESSAGE,
);

/** Validates `webhooks`. */
export const webhooks = z
  .strictObject({
    allowHttp: z.boolean().default(false).describe('Whether receivers can use HTTP without TLS; for development.'),
    allowPrivateNetworks: z
      .array(network)
      .default([])
      .describe(
        'Private networks that receivers can be in. Link-local addresses and metadata services are never ' + 'allowed.',
      ),
    denyNetworks: z
      .array(address)
      .default([])
      .describe('Networks that receivers must not be in, even if public: your own, or your NAT64 prefix.'),
    allowPorts: z
      .array(z.int().min(1).max(65_535))
      .min(1)
      .optional()
      .describe('The only ports of receivers. Without it: all except well-known ports of other protocols.'),
    timeout: duration
      .refine((ms) => ms >= MIN_TIMEOUT_MS && ms <= MAX_TIMEOUT_MS, 'must be from 1s to 30s')
      .prefault('15s')
      .describe('Time for an attempt, unless the endpoint has its own.'),
    maxEndpoints: z.int().min(0).max(1_000).default(50).describe('Most webhook endpoints of an account.'),
  })
  .prefault({})
  .describe('Destinations of webhooks.');

/** Validated webhook settings. */
export type WebhooksConfig = z.output<typeof webhooks>;
