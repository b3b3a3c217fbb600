/** Schema of `webhooks` in `gateway.yaml`: allowed destinations and limits. */
import { z } from 'zod';
import { plainNetwork } from '../../platform/network-list.js';
import { address, prefixOf } from './address-values.js';
import { duration } from './values.js';

export const NETWORK_SIZE_MESSAGE = 'is most of the internet: name the networks that your own receivers are in';
/** Minimum prefix lengths. Shorter ones cover unrelated networks; RFC 4193 uses 7 bits. */
const SHORTEST_PREFIX = { ipv4: 8, ipv6: 7 } as const;

const SHORTEST_TIMEOUT_MS = 1_000;
/** Another process takes over a lane 30 s after its process stopped, so no attempt may take longer. */
const LONGEST_TIMEOUT_MS = 30_000;

const network = address.refine(
  (text) => prefixOf(text) >= SHORTEST_PREFIX[plainNetwork(text).includes(':') ? 'ipv6' : 'ipv4'],
  NETWORK_SIZE_MESSAGE,
);

export const webhooks = z
  .strictObject({
    allowHttp: z.boolean().default(false).describe('Whether a receiver may be without TLS; for development.'),
    allowPrivateNetworks: z
      .array(network)
      .default([])
      .describe(
        'Private networks that receivers may be in. Link-local addresses and metadata services never are opened.',
      ),
    denyNetworks: z
      .array(address)
      .default([])
      .describe(
        'Networks that receivers may not be in, also where they are public: your own, a NAT64 prefix of yours.',
      ),
    allowPorts: z
      .array(z.int().min(1).max(65_535))
      .min(1)
      .optional()
      .describe('The only ports of receivers. Without it: any but those that other protocols are known by.'),
    timeout: duration
      .refine((ms) => ms >= SHORTEST_TIMEOUT_MS && ms <= LONGEST_TIMEOUT_MS, 'must be from 1s to 30s')
      .prefault('15s')
      .describe('For all of an attempt, where its endpoint does not say.'),
    maxEndpoints: z.int().min(0).max(1_000).default(50).describe('Most webhook endpoints of an account.'),
  })
  .prefault({})
  .describe('Where webhooks may go.');

/** Validated webhook settings. */
export type WebhooksConfig = z.output<typeof webhooks>;
