/** Detects proxies, such as load balancers, that are missing from `trustedProxies`. */
import type { ClientMessage } from '../http/client/client-response.js';
import { plainAddress } from '../platform/network-list.js';
import { isPrivateAddress } from '../keys/client-network.js';

/**
 * Reports whether the client address belongs to a proxy that is missing from `trustedProxies`. Such a request has a
 * forwarding header and comes directly from a private address. Public addresses are not considered, because anyone on
 * the internet can send a forwarding header.
 */
export function isUnknownProxy({ headers, socket }: ClientMessage, clientAddress: string): boolean {
  if (headers['x-forwarded-for'] === undefined && headers['forwarded'] === undefined) return false;
  return clientAddress === plainAddress(socket.remoteAddress ?? '') && isPrivateAddress(clientAddress);
}
