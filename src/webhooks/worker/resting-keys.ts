/**
 * Keys of endpoints that have been put to sleep: opening them costs a query and as much as two signatures, and one that
 * hears every few seconds is put to sleep and taken up again each time.
 */
import type { SigningKeys } from '../signing/webhook-signature.js';

/** A kilobyte or two each. */
const MOST_KEPT = 10_000;

/** Keys as they were opened for a version of their endpoint: each rotation makes another. */
export interface OpenedKeys {
  readonly version: number;
  readonly keys: SigningKeys;
}

/** RestingKeys keeps them. Bounded: of more nothing is remembered. */
export class RestingKeys {
  private readonly byEndpoint = new Map<string, OpenedKeys>();

  put(endpointId: string, opened: OpenedKeys): void {
    if (this.byEndpoint.size < MOST_KEPT) this.byEndpoint.set(endpointId, opened);
  }

  /** Hands out those of an endpoint, once; undefined where there are none of this version. */
  take(endpointId: string, version: number): SigningKeys | undefined {
    const opened = this.byEndpoint.get(endpointId);
    this.byEndpoint.delete(endpointId);
    return opened?.version === version ? opened.keys : undefined;
  }
}
