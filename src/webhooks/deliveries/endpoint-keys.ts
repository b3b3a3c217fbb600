/**
 * Signing keys of endpoints. Opening them costs a query and as much time as two signatures. An endpoint with an event
 * every few seconds is released and taken again each time, so the keys of released endpoints are kept.
 */
import { Batcher } from '../../platform/batcher.js';
import type { Clock } from '../../platform/clock.js';
import type { SigningKeys } from '../signing/webhook-signature.js';

/** Endpoints whose keys are kept; a kilobyte or two each. */
const MOST_KEPT = 10_000;
/** Endpoints whose keys are opened in one turn of the event loop: each takes a tenth of a millisecond. */
const KEYS_AT_ONCE = 16;

/** Opens the keys of endpoints. The result has an error in place of keys that cannot be opened. */
export type OpenKeys = (endpointIds: readonly string[], nowMs: number) => Promise<readonly (SigningKeys | Error)[]>;

/** Keys as they were opened for a version of their endpoint. Each rotation makes a new version. */
export interface OpenedKeys {
  readonly version: number;
  readonly keys: SigningKeys;
}

/** EndpointKeys opens keys, and keeps those of released endpoints. */
export class EndpointKeys {
  private readonly opening: Batcher<string, SigningKeys | Error>;
  private readonly kept = new Map<string, OpenedKeys>();

  constructor(openKeys: OpenKeys, clock: Clock) {
    this.opening = new Batcher((ids) => openKeys(ids, clock.now()), { most: KEYS_AT_ONCE });
  }

  /** Rejects where the keys cannot be opened, or as the database does. */
  async open(endpointId: string): Promise<SigningKeys> {
    const keys = await this.opening.add(endpointId);
    if (keys instanceof Error) throw keys;
    return keys;
  }

  /** Keeps the keys of an endpoint that is released, unless there are too many already. */
  keep(endpointId: string, opened: OpenedKeys): void {
    if (this.kept.size < MOST_KEPT) this.kept.set(endpointId, opened);
  }

  /** Removes the kept keys of an endpoint, and returns them if they are of this version. */
  takeKept(endpointId: string, version: number): SigningKeys | undefined {
    const opened = this.kept.get(endpointId);
    this.kept.delete(endpointId);
    return opened?.version === version ? opened.keys : undefined;
  }
}
