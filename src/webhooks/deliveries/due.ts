/**
 * Reads due deliveries of many lanes in one query. Holds back those that must wait for an earlier one of their
 * resource.
 */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { Batcher } from '../../platform/batcher.js';
import type { Clock } from '../../platform/clock.js';
import { readDue, type DueDelivery } from './rows/due-deliveries.js';
import type { LaneEndpoint } from './rows/lane-endpoints.js';
import { holdBlocked } from './rows/order.js';

/** Lanes per query. */
const LANES_AT_ONCE = 64;

/** Due deliveries of a lane. */
export interface DuePage {
  readonly due: readonly DueDelivery[];
  readonly hasMore: boolean;
}

interface DueRequest {
  readonly endpointId: string;
  readonly isOrdered: boolean;
  readonly most: number;
  readonly except: readonly string[];
}

/** DueReader reads due deliveries. */
export class DueReader {
  private readonly reads: Batcher<DueRequest, readonly DueDelivery[]>;

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {
    this.reads = new Batcher((requests) => this.readAll(requests), { most: LANES_AT_ONCE });
  }

  /** Reads due deliveries of a lane. Rejects as the database does. @param except IDs that the lane already has. */
  async readPage({ id, isOrdered }: LaneEndpoint, most: number, except: readonly string[]): Promise<DuePage> {
    const due = await this.reads.add({ endpointId: id, isOrdered, most, except });
    const blocked = due.filter(({ isBlocked }) => isBlocked).map((each) => each.id);
    await holdBlocked(this.db, id, blocked, this.clock.now());
    return { due: due.filter(({ isBlocked }) => !isBlocked), hasMore: due.length === most };
  }

  private async readAll(requests: readonly DueRequest[]): Promise<readonly (readonly DueDelivery[])[]> {
    const byEndpoint = new Map<string, readonly DueDelivery[]>();
    // Nearly all requests have the same limit and no order, so there are few groups.
    const groups = Map.groupBy(requests, ({ most, isOrdered }) => `${most} ${isOrdered}`);
    for (const group of groups.values()) {
      const { most, isOrdered } = group[0]!;
      const found = await readDue(this.db, group, { nowMs: this.clock.now(), most, isOrdered });
      for (const [endpointId, due] of found) byEndpoint.set(endpointId, due);
    }
    return requests.map(({ endpointId }) => byEndpoint.get(endpointId) ?? []);
  }
}
