/**
 * Tracks the number of nodes that share the same limits. Each node sends a heartbeat to Redis every second, outside the
 * request path.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { METRICS } from '../../platform/metrics.js';
import type { RedisClient } from '../../stores/redis/connect.js';
import { EPOCH_KEY, EPOCH_MS, NODES_KEY, NODES_MS } from '../../stores/redis/keys.js';
import type { NodePosition } from '../model/node-position.js';
import { Script } from '../../stores/redis/script.js';
import { HEARTBEAT_LUA } from './scripts/heartbeat.js';

/** Time without a heartbeat after which a node is considered dead. */
const NODE_GONE_MS = 10_000;

/** Number of possible epochs. Large enough that two stores practically never get the same epoch by chance. */
const EPOCHS = 2 ** 47;

const HEARTBEAT = new Script(HEARTBEAT_LUA);

/** HeartbeatResult holds the information about the store that a node gets in response to a heartbeat. */
export interface HeartbeatResult {
  /** Identifies the store and its data. A store that was emptied or replaced gets another epoch. */
  readonly epoch: number;
  /**
   * Whether counts of this node may be lost. True if the store was emptied, or has forgotten this node since the last
   * heartbeat. Also true for the first response, if this node may have counted before that response.
   */
  readonly isLoss: boolean;
  /** Whether the store was certainly emptied, because its epoch has changed. */
  readonly isEmptied: boolean;
}

/** NodeCount tracks how many nodes share the same limits, and this node's place among them. */
export class NodeCount {
  private readonly name: string;
  private lastPlace: NodePosition = { count: 1, rank: 0 };
  /** Epoch of the store at the last response. Undefined before the first response. */
  private epoch: number | undefined;
  /**
   * Whether this node has sent a heartbeat and serves requests. Such a node may have counted requests, even if it got
   * no response.
   */
  private hasSentHeartbeat = false;
  /** Whether the counting process was still waiting for reports of nodes at the last response. */
  isAwaited = false;
  /** Until this instant (`performance.now()`), other nodes may be missing in the set, because Redis was emptied. */
  private unsureUntilMs = -Infinity;

  /**
   * Creates the tracker.
   * @param servesRequests whether this process serves requests. If not, it only reads the number of nodes.
   */
  constructor(
    private readonly client: RedisClient,
    private readonly servesRequests: boolean,
  ) {
    this.name = servesRequests ? randomBytes(9).toString('base64url') : '';
  }

  readGauges(): void {
    METRICS.quotaNodes.series().set(this.lastPlace.count);
  }

  /** This node's place at the last response. Before the first response, the count is 1 or the assumed number. */
  get position(): NodePosition {
    return this.lastPlace;
  }

  /** Assumes a number of nodes until the first response of the store. */
  assumeCount(count: number): void {
    this.lastPlace = { count, rank: count - 1 };
  }

  /**
   * Sends a heartbeat and reads the number of nodes. Never rejects. If there is no response, the last place is kept.
   * @param reportedTo epoch of the store to which this node has reported all of its counts.
   * @returns undefined if there was no response.
   */
  async sendHeartbeat(reportedTo?: number): Promise<HeartbeatResult | undefined> {
    const mayHaveCounted = this.hasSentHeartbeat;
    this.hasSentHeartbeat = this.servesRequests;
    try {
      const args = [this.name, NODE_GONE_MS, NODES_MS, reportedTo ?? '', randomInt(EPOCHS), EPOCH_MS];
      const response = (await HEARTBEAT.run(this.client, [NODES_KEY, EPOCH_KEY], args)) as number[];
      const [count = 1, rank = 0, isNew = 0, epoch = 0, isAwaited = 0] = response;
      this.isAwaited = this.servesRequests && isAwaited === 1;
      // Compare every response, because earlier responses can have been lost.
      const isFirstResponse = this.epoch === undefined;
      const isEmptied = mayHaveCounted && !isFirstResponse && epoch !== this.epoch;
      this.epoch = epoch;
      // A replica or a backup of the store can have the same epoch, but does not contain this node.
      const isLoss = isEmptied || (mayHaveCounted && (isFirstResponse || isNew === 1));
      if (isLoss) this.unsureUntilMs = performance.now() + NODE_GONE_MS;
      // Right after a loss, this node may be the only node that has registered again. It must not use the share of all
      // nodes.
      if (count >= this.lastPlace.count || performance.now() >= this.unsureUntilMs) {
        this.lastPlace = { count: Math.max(1, count), rank };
      }
      return { epoch, isLoss, isEmptied };
    } catch {
      // Keep the last place.
      return undefined;
    }
  }

  /** Removes this node from the set of nodes. Never rejects. */
  async removeNode(): Promise<void> {
    if (this.servesRequests) await this.client.zrem(NODES_KEY, this.name).catch(() => undefined);
  }
}
