/**
 * The number of nodes that share the same limits. Each node sends a heartbeat to Redis every second, outside the
 * request path.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { METRICS } from '../../platform/metrics.js';
import type { RedisClient } from '../../stores/redis/connect.js';
import { EPOCH_KEY, EPOCH_MS, NODES_KEY, NODES_MS } from '../../stores/redis/keys.js';
import type { NodePlace } from '../model/node-place.js';
import { Script } from '../../stores/redis/script.js';
import { HEARTBEAT_LUA } from './scripts/heartbeat.js';

/** A node without a heartbeat for this long is gone. */
const NODE_GONE_MS = 10_000;

/** Large enough that two stores practically never get the same epoch by chance. */
const EPOCHS = 2 ** 47;

const HEARTBEAT = new Script(HEARTBEAT_LUA);

/** Heard is what a node learns about the store from a heartbeat. */
export interface HeartbeatResult {
  /** Identifies this store. An empty store in its place gets another epoch. */
  readonly epoch: number;
  /**
   * Whether what this node counted may be lost. True if the store was emptied or has forgotten this node since the last
   * heartbeat. Also true if this node may have counted before its first response, and cannot tell.
   */
  readonly isLoss: boolean;
  /** Whether the store was certainly emptied: its epoch has changed. */
  readonly isEmptied: boolean;
}

/** NodeCount knows how many nodes share the same limits, and this node's place among them. */
export class NodeCount {
  private readonly name: string;
  private known: NodePlace = { count: 1, rank: 0 };
  /** Epoch of the store at the last response. */
  private epoch: number | undefined;
  /** Whether this node has sent a heartbeat. From then on it may have counted, even without a response. */
  private hasBeaten = false;
  /** Whether, at the last response, decisions had to wait until nodes have reported what they know. */
  isAwaited = false;
  /** Until this instant (`performance.now()`), other nodes may be missing in the set because Redis was emptied. */
  private unsureUntilMs = -Infinity;

  /**
   * Creates the count.
   * @param handsOut whether this process serves requests. If not, it only reads.
   */
  constructor(
    private readonly client: RedisClient,
    private readonly handsOut: boolean,
  ) {
    this.name = handsOut ? randomBytes(9).toString('base64url') : '';
  }

  readGauges(): void {
    METRICS.quotaNodes.series().set(this.known.count);
  }

  /** The place at the last response. The count is 1 if nothing is known. */
  get place(): NodePlace {
    return this.known;
  }

  /** Assumes a number of nodes until the first response of the store. */
  assumeCount(count: number): void {
    this.known = { count, rank: count - 1 };
  }

  /**
   * Sends a heartbeat and reads the other nodes. Never rejects; while Redis is away the last known place remains.
   * @param handedInTo epoch of the store to which this node has reported everything it knows.
   * @returns undefined if there was no response.
   */
  async sendHeartbeat(handedInTo?: number): Promise<HeartbeatResult | undefined> {
    const mayHaveCounted = this.hasBeaten;
    this.hasBeaten = this.handsOut;
    try {
      const args = [this.name, NODE_GONE_MS, NODES_MS, handedInTo ?? '', randomInt(EPOCHS), EPOCH_MS];
      const response = (await HEARTBEAT.run(this.client, [NODES_KEY, EPOCH_KEY], args)) as number[];
      const [count = 1, rank = 0, isNew = 0, epoch = 0, isAwaited = 0] = response;
      this.isAwaited = this.handsOut && isAwaited === 1;
      // The first response may be lost, so every response is compared.
      const isUnheard = this.epoch === undefined;
      const isEmptied = mayHaveCounted && !isUnheard && epoch !== this.epoch;
      this.epoch = epoch;
      // An older state of the store, such as a replica or a backup, can have the same epoch without this node.
      const isLoss = isEmptied || (mayHaveCounted && (isUnheard || isNew === 1));
      if (isLoss) this.unsureUntilMs = performance.now() + NODE_GONE_MS;
      // Right after a loss this node may be the only one that is registered again. It must not use the share of all
      // nodes.
      if (count >= this.known.count || performance.now() >= this.unsureUntilMs) {
        this.known = { count: Math.max(1, count), rank };
      }
      return { epoch, isLoss, isEmptied };
    } catch {
      // Keep what was known last.
      return undefined;
    }
  }

  /** Removes this node from the set. Never rejects. */
  async leave(): Promise<void> {
    if (this.handsOut) await this.client.zrem(NODES_KEY, this.name).catch(() => undefined);
  }
}
