/**
 * Caches the signing keys of endpoints. Decrypting them costs a query and as much time as two signatures. An endpoint
 * with an event every few seconds is released and claimed again each time, so the keys of released endpoints are kept.
 */
import { Batcher } from '../../platform/batcher.js';
import type { Clock } from '../../platform/clock.js';
import type { SigningKeys } from '../signing/webhook-signature.js';

/** Maximum number of cached endpoints, at one to two kilobytes each. */
const MOST_KEPT = 10_000;
/** Endpoints whose keys are decrypted per turn of the event loop, at 0.1 ms each. */
const KEYS_AT_ONCE = 16;

/** Decrypts the keys of endpoints. The result contains an error for keys that cannot be decrypted. */
export type OpenKeys = (endpointIds: readonly string[], nowMs: number) => Promise<readonly (SigningKeys | Error)[]>;

/** Decrypted keys for one version of an endpoint. Each rotation creates a new version. */
export interface OpenedKeys {
  readonly version: number;
  readonly keys: SigningKeys;
}

/** EndpointKeys decrypts keys, and caches those of released endpoints. */
export class EndpointKeys {
  private readonly opening: Batcher<string, SigningKeys | Error>;
  private readonly kept = new Map<string, OpenedKeys>();

  constructor(openKeys: OpenKeys, clock: Clock) {
    this.opening = new Batcher((ids) => openKeys(ids, clock.now()), { most: KEYS_AT_ONCE });
  }

  /** Decrypts an endpoint's keys. Rejects if that fails, or as the database does. */
  async open(endpointId: string): Promise<SigningKeys> {
    const keys = await this.opening.add(endpointId);
    if (keys instanceof Error) throw keys;
    return keys;
  }

  /** Caches the keys of a released endpoint, unless the cache is full. */
  keep(endpointId: string, opened: OpenedKeys): void {
    if (this.kept.size < MOST_KEPT) this.kept.set(endpointId, opened);
  }

  /** Removes an endpoint's keys from the cache. Returns them if they have this version. */
  takeKept(endpointId: string, version: number): SigningKeys | undefined {
    const opened = this.kept.get(endpointId);
    this.kept.delete(endpointId);
    return opened?.version === version ? opened.keys : undefined;
  }
}
