/** How many nodes hand out the same limits: each says every second in Redis that it is there. Off the request path. */
import { randomBytes } from 'node:crypto';
import { METRICS } from '../../platform/metrics.js';
import type { RedisClient } from '../../redis/connect.js';
import { NODES_KEY, NODES_MS } from '../../redis/keys.js';
import type { NodePlace } from '../model/node-place.js';
import { Script } from '../../redis/script.js';
import { HEARTBEAT_LUA } from './scripts/heartbeat.js';

/** A node that has not been heard of for this long is gone. */
const NODE_GONE_MS = 10_000;

const HEARTBEAT = new Script(HEARTBEAT_LUA);

/** NodeCount knows how many nodes hand out the same limits, and this node's place among them. */
export class NodeCount {
  private readonly name: string;
  private known: NodePlace = { count: 1, rank: 0 };
  private wasHeard = false;
  /** Whether decisions wait until nodes have handed in what they know, as it was last heard. */
  isAwaited = false;
  /**
   * Until when others may not have said again that they are there, because Redis was emptied; by `performance.now()`.
   */
  private unsureUntilMs = -Infinity;

  /** @param handsOut whether this process serves requests; one that does not only asks. */
  constructor(
    private readonly client: RedisClient,
    private readonly handsOut: boolean,
  ) {
    this.name = handsOut ? randomBytes(9).toString('base64url') : '';
  }

  readGauges(): void {
    METRICS.quotaNodes.series().set(this.known.count);
  }

  /** As it was last heard; 1 where nothing is known. */
  get place(): NodePlace {
    return this.known;
  }

  /**
   * Says that this node is there, and learns who else is. Never rejects; while Redis is away what is known stays.
   * @param hasHandedIn whether all that this node knows has been handed in, since it was last heard.
   * @returns whether Redis has forgotten this node since it was last heard: it was emptied. Undefined where that is not
   * known.
   */
  async beat(hasHandedIn = false): Promise<boolean | undefined> {
    try {
      const args = [this.name, NODE_GONE_MS, NODES_MS, hasHandedIn ? 1 : 0];
      const response = (await HEARTBEAT.run(this.client, [NODES_KEY], args)) as number[];
      const [count = 1, rank = 0, isNew = 0, isAwaited = 0] = response;
      this.isAwaited = this.handsOut && isAwaited === 1;
      const wasEmptied = isNew === 1 && this.wasHeard;
      this.wasHeard = this.handsOut;
      if (wasEmptied) this.unsureUntilMs = performance.now() + NODE_GONE_MS;
      // Right after that this node may be the only one to have said it again: it would hand out the share of all.
      if (count >= this.known.count || performance.now() >= this.unsureUntilMs) {
        this.known = { count: Math.max(1, count), rank };
      }
      return wasEmptied;
    } catch {
      // What was known last is what there is to go by.
      return undefined;
    }
  }

  /** Says that this node is gone. Never rejects. */
  async leave(): Promise<void> {
    if (this.handsOut) await this.client.zrem(NODES_KEY, this.name).catch(() => undefined);
  }
}
