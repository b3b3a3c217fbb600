/**
 * Exchanges status reports with the other nodes every few seconds, in the background. Callers get the last received
 * reports with their age. No request or health probe waits for Redis or the database.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { boundedStatus, parseStatus, type KnownNodeStatus, type NodeStatus } from './node-status.js';
import { NODE_STATUS_LIFETIME_MS, type NodeStatusStore } from './node-status-store.js';

/** Usual pause between two exchanges. */
const INTERVAL_MS = 2_000;
/** If parsing the reports takes long, the pause is this many times the parsing time, at most `LONGEST_PAUSE_MS`. */
const PAUSE_FACTOR = 20;
const LONGEST_PAUSE_MS = 6_000;

interface ReceivedNodeStatus {
  readonly status: NodeStatus;
  readonly ageMs: number;
  /** Time of receipt (`performance.now()`). */
  readonly receivedMs: number;
}

export class NodeStatuses {
  private readonly id = randomUUID();
  private describe: (() => Omit<NodeStatus, 'targetsLeftOut'>) | undefined;
  private isFollowing = false;
  private isStopped = false;
  /**
   * Whether the last exchange wrote this node's report. If it did not, `stop` removes no report, and an earlier report
   * expires.
   */
  private isPublished = false;
  /** The running exchange. Undefined between two exchanges. */
  private exchange: Promise<void> | undefined;
  private received: readonly ReceivedNodeStatus[] = [];
  private timer: NodeJS.Timeout | undefined;

  /** @param store undefined if there are no other nodes. */
  constructor(private readonly store: NodeStatusStore | undefined) {}

  /**
   * Publishes this node's report immediately, and again after each pause of two to six seconds.
   * @param describe returns the current report.
   */
  publish(describe: () => Omit<NodeStatus, 'targetsLeftOut'>): void {
    this.describe = describe;
    this.startExchange();
  }

  /** Reads the reports of other nodes immediately, and again after each pause of two to six seconds. */
  startReading(): void {
    this.isFollowing = true;
    this.startExchange();
  }

  /**
   * Returns the last received reports of other nodes, latest first. Omits reports older than
   * `NODE_STATUS_LIFETIME_MS`.
   */
  otherNodes(): KnownNodeStatus[] {
    const nowMs = performance.now();
    return this.received
      .map(({ status, ageMs, receivedMs }) => ({ ...status, ageMs: ageMs + nowMs - receivedMs }))
      .filter(({ ageMs }) => ageMs <= NODE_STATUS_LIFETIME_MS)
      .toSorted((a, b) => a.ageMs - b.ageMs);
  }

  /** Stops the exchange, and removes this node's report from the store. Never rejects. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    // Wait for a running exchange, because it could write the report again.
    await this.exchange;
    if (this.isPublished) await this.store?.removeStatus(this.id).catch(() => undefined);
    this.store?.close();
  }

  /** Starts an exchange immediately, or as soon as the running exchange has ended. */
  private startExchange(): void {
    clearTimeout(this.timer);
    if (this.store === undefined || this.isStopped) return;
    if (this.exchange !== undefined) return void this.exchange.then(() => this.startExchange());
    this.exchange = this.exchangeStatements(this.store).then((parsingMs) => {
      this.exchange = undefined;
      if (this.isStopped) return;
      const pauseMs = Math.max(INTERVAL_MS, Math.min(PAUSE_FACTOR * parsingMs, LONGEST_PAUSE_MS));
      this.timer = setTimeout(() => this.startExchange(), pauseMs).unref();
    });
  }

  /**
   * Writes this node's report, and reads the reports of other nodes. Never rejects. If the write fails, other nodes
   * show the previous report with its age.
   * @returns time spent on parsing the other reports, in ms. 0 if the exchange read no reports or failed.
   */
  private async exchangeStatements(store: NodeStatusStore): Promise<number> {
    try {
      this.isPublished = false;
      if (this.describe !== undefined) {
        await store.saveStatus(this.id, JSON.stringify(boundedStatus(this.describe())));
        this.isPublished = true;
      }
      return this.isFollowing ? await this.readOthers(store) : 0;
    } catch {
      // Keep the last received reports. Their age grows.
      return 0;
    }
  }

  /** Reads the reports of other nodes. Returns the time spent on parsing them, in ms. */
  private async readOthers(store: NodeStatusStore): Promise<number> {
    const written = await store.listStatuses();
    const receivedMs = performance.now();
    const received: ReceivedNodeStatus[] = [];
    for (const { id, text, ageMs } of written) {
      const status = id === this.id ? undefined : parseStatus(text);
      if (status !== undefined) received.push({ status, ageMs: Math.max(0, ageMs), receivedMs });
      // Let requests run between two reports.
      await nextTurn();
    }
    this.received = received;
    return performance.now() - receivedMs;
  }
}
