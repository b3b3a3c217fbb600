/** Takes the ports of all listeners first, so that a start that fails for a port has changed nothing. */
import type { GatewayFile } from '../config/model/schema.js';
import { claimPort } from '../platform/listen.js';
import { StartError } from '../platform/start-error.js';
import type { Role } from './roles.js';

/** Claims them until their roles listen. Rejects with `StartError`. */
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

/** Each worker opens the authorization server's port for itself. */
async function claimOAuthPort(oauth: { readonly host: string; readonly port: number }, workers: number): Promise<void> {
  if (oauth.port === 0 && workers > 1)
    throw new StartError('mcp.oauth.port is 0, so each worker would listen on another port: name one in gateway.yaml.');
  await claimPort('oauth', oauth);
}
