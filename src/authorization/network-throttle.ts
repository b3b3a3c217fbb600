/**
 * Limits the requests to the authorization server by network. Hosted assistants (claude.ai, ChatGPT) use few addresses
 * for all their users. So each known client has its own limit at the token endpoint, and trusted networks have a
 * hundred times the limit.
 */
import { createHash } from 'node:crypto';
import { clientNetwork } from '../keys/client-network.js';
import type { Trusts } from '../keys/clients/client-address.js';
import { THROTTLES } from '../quota/model/throttle-rows.js';
import type { ThrottleWindows } from '../quota/throttle-windows.js';

/** Multiplier for trusted networks, which many people share. */
const TRUSTED_FACTOR = 100;

/** Throttle of each kind of request. The kinds are counted separately. */
const KINDS = {
  request: THROTTLES.oauthRequests,
  token: THROTTLES.oauthTokens,
  registration: THROTTLES.oauthRegistrations,
  document: THROTTLES.oauthDocuments,
} as const;

/** NetworkThrottle counts requests by network and reports whether a request exceeds its limit. */
export class NetworkThrottle {
  /** @param isTrusted reports whether many people share an address; undefined: no network is trusted */
  constructor(
    private readonly windows: Pick<ThrottleWindows, 'increment'>,
    private readonly isTrusted: Trusts | undefined,
  ) {}

  /**
   * Counts a request and reports whether the request is allowed. If the counters are unavailable, returns false,
   * because these requests are expensive to serve. Never rejects.
   * @param clientId counts this client separately from the rest of its network; undefined: counts all requests of the
   * network together
   */
  async admits(kind: keyof typeof KINDS, address: string, clientId?: string): Promise<boolean> {
    const row = KINDS[kind];
    const limit = this.isTrusted?.(address) === true ? row.limit * TRUSTED_FACTOR : row.limit;
    const network = clientNetwork(address);
    const key = clientId === undefined ? network : `${network} ${hashOf(clientId)}`;
    try {
      return (await this.windows.increment(row, key, limit)).admitted;
    } catch {
      return false;
    }
  }
}

/** Hashes a client ID to a fixed length, because the client chooses the ID. */
function hashOf(clientId: string): string {
  return createHash('sha256').update(clientId).digest('base64url').slice(0, 22);
}
