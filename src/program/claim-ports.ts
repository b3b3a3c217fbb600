/** Reserves the ports of all listeners. If a port is in use, the start fails before it changes any data. */
import type { GatewayFile } from '../config/model/schema.js';
import { claimPort } from '../platform/listen.js';
import { StartError } from '../platform/start-error.js';
import type { Role } from './roles.js';

/** Reserves the ports until the listeners open. Rejects with `StartError` if a port is not available. */
export async function claimPorts(
  { gateway, admin, mcp }: GatewayFile,
  roles: readonly Role[],
  workers: number,
): Promise<void> {
  const { health } = admin;
  if (roles.includes('gateway')) {
    await claimPort('gateway', gateway);
    if (mcp.oauth !== undefined) await claimOAuthPort(mcp.oauth, workers);
  }
  if (health !== undefined) await claimPort('health', health);
  if (health === undefined || roles.includes('admin')) await claimPort('admin', admin);
}

/**
 * Reserves the port of the authorization server. With several workers, port 0 is an error, because all workers must
 * open the same port.
 */
async function claimOAuthPort(oauth: { readonly host: string; readonly port: number }, workers: number): Promise<void> {
  if (oauth.port === 0 && workers > 1)
    throw new StartError('mcp.oauth.port is 0, so each worker would listen on another port: name one in gateway.yaml.');
  await claimPort('oauth', oauth);
}
