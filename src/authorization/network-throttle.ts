/**
 * How often the authorization server is asked from one network. Services that many people use (claude.ai, ChatGPT) come
 * from few addresses for all of them: clients that are known have each their own share of the token endpoint, and
 * networks that the configuration trusts have a hundredfold.
 */
import { createHash } from 'node:crypto';
import { clientNetwork } from '../keys/client-network.js';
import type { Trusts } from '../keys/clients/client-address.js';
import type { ThrottleWindows } from '../limits/throttle-windows.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Of one network, at every endpoint together but `/mcp`; at the token endpoint of each known client there. */
const REQUESTS_PER_MINUTE = 60;
/** Of one network, whatever its clients. */
const TOKEN_REQUESTS_PER_MINUTE = 600;
const REGISTRATIONS_PER_HOUR = 20;
const FETCHES_PER_MINUTE = 10;
/** For a network of many people. */
const TRUSTED_FACTOR = 100;

/** What is counted, each by itself. */
const KINDS = {
  request: { name: 'oauth', windowMs: MINUTE_MS, limit: REQUESTS_PER_MINUTE },
  token: { name: 'oauth-tokens', windowMs: MINUTE_MS, limit: TOKEN_REQUESTS_PER_MINUTE },
  registration: { name: 'oauth-registrations', windowMs: HOUR_MS, limit: REGISTRATIONS_PER_HOUR },
  document: { name: 'oauth-documents', windowMs: MINUTE_MS, limit: FETCHES_PER_MINUTE },
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
    const { name, windowMs, limit } = KINDS[kind];
    const most = this.isTrusted?.(address) === true ? limit * TRUSTED_FACTOR : limit;
    const network = clientNetwork(address);
    const key = clientId === undefined ? network : `${network} ${hashOf(clientId)}`;
    try {
      return (await this.windows.increment(name, key, windowMs, most)).admitted;
    } catch {
      return false;
    }
  }
}

/** A client's id is a URL of its own choice. */
function hashOf(clientId: string): string {
  return createHash('sha256').update(clientId).digest('base64url').slice(0, 22);
}
