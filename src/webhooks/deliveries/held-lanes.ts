/** The lanes that this process has leased, by endpoint. */
import type { EndpointKeys } from './endpoint-keys.js';
import { Lane } from './lane.js';
import type { LaneEndpoint } from './rows/lane-endpoints.js';

/** HeldLanes holds a lane from its claim to its release. */
export class HeldLanes {
  private readonly lanes = new Map<string, Lane>();

  constructor(private readonly keys: EndpointKeys) {}

  get size(): number {
    return this.lanes.size;
  }

  ids(): string[] {
    return [...this.lanes.keys()];
  }

  all(): Iterable<Lane> {
    return this.lanes.values();
  }

  /** Returns the endpoint IDs of matching lanes. */
  idsOf(matches: (lane: Lane) => boolean): string[] {
    return [...this.lanes.values()].filter(matches).map(({ endpointId }) => endpointId);
  }

  get(endpointId: string): Lane | undefined {
    return this.lanes.get(endpointId);
  }

  /** Adds the lane of an endpoint. A lane that is already held is taken again, with its attempts in progress. */
  add(endpoint: LaneEndpoint): Lane {
    const held = this.lanes.get(endpoint.id);
    if (held !== undefined) {
      held.retake(endpoint);
      return held;
    }
    const lane = new Lane(endpoint, this.keys.takeKept(endpoint.id, endpoint.version));
    this.lanes.set(endpoint.id, lane);
    return lane;
  }

  /** Drops an idle lane, and caches its keys. */
  dropIdle(endpointId: string): void {
    const opened = this.lanes.get(endpointId)?.openedKeys;
    if (opened !== undefined) this.keys.keep(endpointId, opened);
    this.drop(endpointId);
  }

  /** Drops a lane. It starts no more attempts. */
  drop(endpointId: string): void {
    this.lanes.get(endpointId)?.drop();
    this.lanes.delete(endpointId);
  }

  dropAll(): void {
    for (const id of this.ids()) this.drop(id);
  }
}
