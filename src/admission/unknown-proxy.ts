/** Whether a request comes through a load balancer that nobody has told us of. */
import type { ClientMessage } from '../http/client/client-response.js';
import { plainAddress } from '../platform/network-list.js';
import { isPrivateAddress } from '../keys/client-network.js';

/**
 * Whether the address is that of a proxy among ours which `trustedProxies` does not name: it says for whom it speaks,
 * and is not on the internet, from where anyone could say so.
 */
export function isUnknownProxy({ headers, socket }: ClientMessage, clientAddress: string): boolean {
  if (headers['x-forwarded-for'] === undefined && headers['forwarded'] === undefined) return false;
  return clientAddress === plainAddress(socket.remoteAddress ?? '') && isPrivateAddress(clientAddress);
}
