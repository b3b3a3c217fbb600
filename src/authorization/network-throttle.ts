/**
 * How often the authorization server is asked from one network. Services that many people use (claude.ai, ChatGPT) come
 * from few addresses for all of them: clients that are known have each their own share of the token endpoint, and
 * networks that the configuration trusts have a hundredfold.
 */
import { createHash } from 'node:crypto';
import { clientNetwork } from '../keys/client-network.js';
import type { Trusts } from '../keys/clients/client-address.js';
import { THROTTLES } from '../quota/model/throttle-rows.js';
import type { ThrottleWindows } from '../quota/throttle-windows.js';

/** For a network of many people. */
const TRUSTED_FACTOR = 100;

/** What is counted, each by itself. */
const KINDS = {
  request: THROTTLES.oauthRequests,
  token: THROTTLES.oauthTokens,
  registration: THROTTLES.oauthRegistrations,
  document: THROTTLES.oauthDocuments,
} as const;

/** NetworkThrottle counts. */
export class NetworkThrottle {
  /** @param isTrusted whether an address is of a network that many people share; undefined: none is. */
  constructor(
    private readonly windows: Pick<ThrottleWindows, 'increment'>,
    private readonly isTrusted: Trusts | undefined,
  ) {}

  /**
   * Whether an address may ask now; counts it. A throttle that cannot be asked lets nobody pass it by: what is behind
   * it costs more than it gives. Never rejects.
   * @param clientId of whom it is counted, where the client is known.
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

/** A client's id is a URL of its own choice. */
function hashOf(clientId: string): string {
  return createHash('sha256').update(clientId).digest('base64url').slice(0, 22);
}
