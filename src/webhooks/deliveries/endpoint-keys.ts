/**
 * Decrypts the signing keys of endpoints, and caches the keys of released endpoints. Decrypting keys costs a query and
 * as much time as two signatures. An endpoint with infrequent events is released and claimed again for each event.
 */
import { Batcher } from '../../platform/batcher.js';
import type { Clock } from '../../platform/clock.js';
import type { SigningKeys } from '../signing/webhook-signature.js';

/** Maximum number of cached endpoints. The keys of each endpoint take one to two kilobytes. */
const MAX_KEPT = 10_000;
/** Maximum number of endpoints whose keys are decrypted at once. Each endpoint blocks the event loop for 0.1 ms. */
const KEYS_AT_ONCE = 16;

/** Decrypts the keys of endpoints. The result contains an error for keys that cannot be decrypted. */
export type OpenKeys = (endpointIds: readonly string[], nowMs: number) => Promise<readonly (SigningKeys | Error)[]>;

/** Decrypted keys of one version of an endpoint. Each rotation increments the version. */
export interface OpenedKeys {
  readonly version: number;
  readonly keys: SigningKeys;
}

/** EndpointKeys decrypts signing keys, and caches the keys of released endpoints. */
export class EndpointKeys {
  private readonly opening: Batcher<string, SigningKeys | Error>;
  /** Cached keys of released endpoints, by endpoint ID. */
  private readonly kept = new Map<string, OpenedKeys>();

  constructor(openKeys: OpenKeys, clock: Clock) {
    this.opening = new Batcher((ids) => openKeys(ids, clock.now()), { most: KEYS_AT_ONCE });
  }

  /** Decrypts an endpoint's keys. Rejects if the keys cannot be decrypted, or if the database fails. */
  async open(endpointId: string): Promise<SigningKeys> {
    const keys = await this.opening.add(endpointId);
    if (keys instanceof Error) throw keys;
    return keys;
  }

  /** Caches the keys of a released endpoint, unless the cache is full. */
  cacheKeys(endpointId: string, opened: OpenedKeys): void {
    if (this.kept.size < MAX_KEPT) this.kept.set(endpointId, opened);
  }

  /** Removes an endpoint's keys from the cache. Returns the keys if they have this version, otherwise undefined. */
  removeCachedKeys(endpointId: string, version: number): SigningKeys | undefined {
    const opened = this.kept.get(endpointId);
    this.kept.delete(endpointId);
    return opened?.version === version ? opened.keys : undefined;
  }
}
