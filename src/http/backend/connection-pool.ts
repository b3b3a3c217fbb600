/**
 * The connections to one server: kept while they idle, opened while there are
 * fewer than allowed, and handed out one call each.
 */
import type { Call } from './call.js';
import { Connection, type ConnectionOwner } from './connection.js';
import type { Connector } from './connector.js';
import { connectionError } from '../grammar/errors.js';

export interface ConnectionPoolOptions {
  /** `host:port`, as the `Host` field says it. */
  readonly host: string;
  /** The most connections at a time. */
  readonly most: number;
  /** How long one is kept that nobody uses and whose server says nothing of it. */
  readonly idleMs: number;
}

/** RFC 9112 section 9.5: a server may close at the very moment of the next request, so we are to be first. */
const EARLIER_THAN_SERVER_MS = 2_000;
/** However long a server would keep one. */
const LONGEST_IDLE_MS = 60_000;
const SWEEP_INTERVAL_MS = 500;
/**
 * Sweeps further apart: this process was held up, and what servers did meanwhile to connections that idle has not been
 * read. What is sent on one that has long been closed is lost, and not every request may be sent twice.
 */
const LONGEST_PAUSE_MS = 1_500;

export class ConnectionPool implements ConnectionOwner {
  private readonly open = new Set<Connection>();
  /** The one that was used last is used next, so that those too many grow old. */
  private readonly idle: Connection[] = [];
  /** Calls without a connection, in their order. */
  private readonly queue: Call[] = [];
  private connecting = 0;
  private readonly fixedLines: string;
  private sweeper: NodeJS.Timeout | undefined;
  /** By `performance.now()`; means something while there is a sweeper. */
  private sweptMs = 0;
  private whenEmpty: (() => void)[] = [];
  private isClosed = false;

  constructor(
    private readonly connector: Connector,
    private readonly options: ConnectionPoolOptions,
  ) {
    this.fixedLines = `Host: ${options.host}\r\nConnection: keep-alive\r\n`;
  }

  /** Sends a call on an idle connection, at once, or on the next that is there. */
  dispatch(call: Call): void {
    if (this.isClosed) {
      call.onError(connectionError('TRAILGATE_POOL_CLOSED'));
      return;
    }
    const connection = this.takeIdle();
    if (connection !== undefined) {
      this.serve(connection, call);
      return;
    }
    this.queue.push(call);
    this.openMore();
  }

  /** Forgets a call that has no connection yet. */
  cancel(call: Call): void {
    const at = this.queue.indexOf(call);
    if (at !== -1) this.queue.splice(at, 1);
  }

  /** Takes no more calls; resolves when those that it has are over. Idle connections are closed at once. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.closeIdle();
    if (this.open.size > 0 || this.connecting > 0 || this.queue.length > 0) {
      await new Promise<void>((resolve) => void this.whenEmpty.push(resolve));
    }
    clearInterval(this.sweeper);
  }

  /** Takes no more calls and ends those that it has. */
  destroy(): Promise<void> {
    const reason = connectionError('TRAILGATE_POOL_CLOSED');
    const closed = this.close();
    for (const call of this.queue.splice(0)) call.onError(reason);
    for (const connection of this.open) connection.destroy(reason);
    this.tellWhenEmpty();
    return closed;
  }

  onFree(connection: Connection, idleMs: number): void {
    const call = this.queue.shift();
    if (call !== undefined) {
      this.serve(connection, call);
      return;
    }
    const longest = idleMs === -1 ? this.options.idleMs : Math.min(idleMs - EARLIER_THAN_SERVER_MS, LONGEST_IDLE_MS);
    if (this.isClosed || longest <= 0) {
      connection.destroy(connectionError('TRAILGATE_POOL_CLOSED'));
      return;
    }
    const nowMs = performance.now();
    connection.idleUntilMs = nowMs + longest;
    this.idle.push(connection);
    if (this.sweeper !== undefined) return;
    this.sweptMs = nowMs;
    this.sweeper = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS).unref();
  }

  /**
   * One had been closed before it was used; those that have idled for longer
   * are hardly better, and a retry must not find them.
   */
  onStale(): void {
    this.closeIdle();
  }

  onClosed(connection: Connection): void {
    this.open.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at !== -1) this.idle.splice(at, 1);
    this.openMore();
    this.tellWhenEmpty();
  }

  private takeIdle(): Connection | undefined {
    const nowMs = performance.now();
    if (nowMs - this.sweptMs > LONGEST_PAUSE_MS) this.closeIdle();
    for (let last = this.idle.pop(); last !== undefined; last = this.idle.pop()) {
      if (last.idleUntilMs > nowMs) return last;
      last.destroy(connectionError('TRAILGATE_POOL_CLOSED'));
    }
    return undefined;
  }

  private serve(connection: Connection, call: Call): void {
    // Gone without having used it: somebody else may.
    if (!connection.serve(call) && this.open.has(connection)) this.onFree(connection, -1);
  }

  /** As many connections on their way as there are calls that wait for one. */
  private openMore(): void {
    while (this.queue.length > this.connecting && this.open.size < this.options.most) this.connect();
  }

  private connect(): void {
    const connection = new Connection(this, this.fixedLines);
    this.open.add(connection);
    this.connecting++;
    try {
      connection.attach(this.connector.connect(connection.onRead, (error) => this.onConnected(connection, error)));
    } catch (error) {
      this.open.delete(connection);
      this.onConnected(connection, error as Error);
    }
  }

  private onConnected(connection: Connection, error: Error | undefined): void {
    this.connecting--;
    if (error === undefined) {
      this.onFree(connection, -1);
      return;
    }
    this.queue.shift()?.onError(error);
    this.openMore();
    this.tellWhenEmpty();
  }

  /** Closes what has idled for too long. The oldest stand first. */
  private sweep(): void {
    const nowMs = performance.now();
    if (nowMs - this.sweptMs > LONGEST_PAUSE_MS) this.closeIdle();
    this.sweptMs = nowMs;
    for (const connection of this.idle.filter(({ idleUntilMs }) => idleUntilMs <= nowMs)) {
      connection.destroy(connectionError('TRAILGATE_POOL_CLOSED'));
    }
    if (this.idle.length > 0) return;
    clearInterval(this.sweeper);
    this.sweeper = undefined;
  }

  private closeIdle(): void {
    for (const connection of this.idle.splice(0)) connection.destroy(connectionError('TRAILGATE_POOL_CLOSED'));
  }

  private tellWhenEmpty(): void {
    if (!this.isClosed || this.open.size > 0 || this.connecting > 0 || this.queue.length > 0) return;
    for (const tell of this.whenEmpty.splice(0)) tell();
  }
}
