/** The schema of `webhooks` in `gateway.yaml`: where integrators may have their events sent to, and how many places. */
import { z } from 'zod';
import { address } from './address-values.js';

export const NETWORK_SIZE_MESSAGE = 'is most of the internet: name the networks that your own receivers are in';
/** Shorter prefixes are no network of anybody's; RFC 4193 has 7 bits. */
const SHORTEST_PREFIX = { ipv4: 8, ipv6: 7 } as const;

const network = address.refine((text) => {
  const [host = '', prefix] = text.split('/');
  return prefix === undefined || Number(prefix) >= SHORTEST_PREFIX[host.includes(':') ? 'ipv6' : 'ipv4'];
}, NETWORK_SIZE_MESSAGE);

export const webhooks = z
  .strictObject({
    allowHttp: z.boolean().default(false).describe('Whether a receiver may be without TLS; for development.'),
    allowPrivateNetworks: z
      .array(network)
      .default([])
      .describe(
        'Private networks that receivers may be in. Link-local addresses and metadata services never are opened.',
      ),
    allowPorts: z
      .array(z.int().min(1).max(65_535))
      .min(1)
      .optional()
      .describe('The only ports of receivers. Without it: any but those that other protocols are known by.'),
    maxEndpoints: z.int().min(0).max(1_000).default(50).describe('Most webhook endpoints of an account.'),
  })
  .prefault({})
  .describe('Where webhooks may go.');

/** Checked settings of webhooks. */
export type WebhooksConfig = z.output<typeof webhooks>;
