/** How many nodes hand out the same limits: each says every second in Redis that it is there. Off the request path. */
import { randomBytes, randomInt } from 'node:crypto';
import { METRICS } from '../../platform/metrics.js';
import type { RedisClient } from '../../stores/redis/connect.js';
import { EPOCH_KEY, EPOCH_MS, NODES_KEY, NODES_MS } from '../../stores/redis/keys.js';
import type { NodePlace } from '../model/node-place.js';
import { Script } from '../../stores/redis/script.js';
import { HEARTBEAT_LUA } from './scripts/heartbeat.js';

/** A node that has not been heard of for this long is gone. */
const NODE_GONE_MS = 10_000;

/** Two stores have the same by chance as good as never. */
const EPOCHS = 2 ** 47;

const HEARTBEAT = new Script(HEARTBEAT_LUA);

/** Heard is what a node learns of the store when it says that it is there. */
export interface Heard {
  /** By what this store is told from one that is empty in its place. */
  readonly epoch: number;
  /**
   * What this node counted may be gone: since it was last heard the store was emptied, or has forgotten this node; or
   * this node may have counted before it heard anything, and cannot tell.
   */
  readonly isLoss: boolean;
  /** It was emptied for sure: this node has heard another. */
  readonly isEmptied: boolean;
}

/** NodeCount knows how many nodes hand out the same limits, and this node's place among them. */
export class NodeCount {
  private readonly name: string;
  private known: NodePlace = { count: 1, rank: 0 };
  /** Of the store that was heard last. */
  private epoch: number | undefined;
  /** Whether it has said that it is there: from then on it may have counted, also where no reply was heard. */
  private hasBeaten = false;
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

  /** Assumes a number of nodes until the store has been heard. */
  assume(count: number): void {
    this.known = { count, rank: count - 1 };
  }

  /**
   * Says that this node is there, and learns who else is. Never rejects; while Redis is away what is known stays.
   * @param handedInTo the epoch of the store that all that this node knows has been handed in to.
   * @returns undefined where nothing was heard.
   */
  async beat(handedInTo?: number): Promise<Heard | undefined> {
    const mayHaveCounted = this.hasBeaten;
    this.hasBeaten = this.handsOut;
    try {
      const args = [this.name, NODE_GONE_MS, NODES_MS, handedInTo ?? '', randomInt(EPOCHS), EPOCH_MS];
      const response = (await HEARTBEAT.run(this.client, [NODES_KEY, EPOCH_KEY], args)) as number[];
      const [count = 1, rank = 0, isNew = 0, epoch = 0, isAwaited = 0] = response;
      this.isAwaited = this.handsOut && isAwaited === 1;
      // Told by each reply, and not only by the first: that one may be lost.
      const isUnheard = this.epoch === undefined;
      const isEmptied = mayHaveCounted && !isUnheard && epoch !== this.epoch;
      this.epoch = epoch;
      // An older state of it, such as a replica or a backup, may have the epoch, and not this node.
      const isLoss = isEmptied || (mayHaveCounted && (isUnheard || isNew === 1));
      if (isLoss) this.unsureUntilMs = performance.now() + NODE_GONE_MS;
      // Right after that this node may be the only one to have said it again: it would hand out the share of all.
      if (count >= this.known.count || performance.now() >= this.unsureUntilMs) {
        this.known = { count: Math.max(1, count), rank };
      }
      return { epoch, isLoss, isEmptied };
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
