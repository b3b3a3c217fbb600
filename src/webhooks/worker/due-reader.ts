/** Reads what is due of lanes, many with one query; and holds what stands behind something of its resource. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { readDue, type DueDelivery } from '../deliveries/due-deliveries.js';
import type { LaneEndpoint } from '../deliveries/lane-endpoints.js';
import { holdBlocked } from '../deliveries/order.js';
import { Batcher } from '../../platform/batcher.js';
import type { Clock } from '../../platform/clock.js';

/** Lanes of one query. */
const LANES_AT_ONCE = 64;

/** What is due of a lane, as far as it was read. */
export interface DuePage {
  readonly due: readonly DueDelivery[];
  readonly hasMore: boolean;
}

interface Asked {
  readonly endpointId: string;
  readonly isOrdered: boolean;
  readonly most: number;
  readonly except: readonly string[];
}

/** DueReader gathers. */
export class DueReader {
  private readonly reads: Batcher<Asked, readonly DueDelivery[]>;

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {
    this.reads = new Batcher((asked) => this.readAll(asked), { most: LANES_AT_ONCE });
  }

  /** @param except what the lane has in hand. Rejects as the database does. */
  async page({ id, isOrdered }: LaneEndpoint, most: number, except: readonly string[]): Promise<DuePage> {
    const due = await this.reads.add({ endpointId: id, isOrdered, most, except });
    const blocked = due.filter(({ isBlocked }) => isBlocked).map((each) => each.id);
    await holdBlocked(this.db, id, blocked, this.clock.now());
    return { due: due.filter(({ isBlocked }) => !isBlocked), hasMore: due.length === most };
  }

  private async readAll(asked: readonly Asked[]): Promise<readonly (readonly DueDelivery[])[]> {
    const byEndpoint = new Map<string, readonly DueDelivery[]>();
    // Nearly all want as many, and no order.
    const groups = Map.groupBy(asked, ({ most, isOrdered }) => `${most} ${isOrdered}`);
    for (const group of groups.values()) {
      const { most, isOrdered } = group[0]!;
      const found = await readDue(this.db, group, { nowMs: this.clock.now(), most, isOrdered });
      for (const [endpointId, due] of found) byEndpoint.set(endpointId, due);
    }
    return asked.map(({ endpointId }) => byEndpoint.get(endpointId) ?? []);
  }
}
