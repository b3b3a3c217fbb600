/**
 * Manages a pool of connections to one server. Keeps idle connections open, opens new ones up to a limit, and assigns
 * one call at a time to each connection. Calls wait in a queue if all connections are in use.
 */
import type { Call } from './call.js';
import { Connection, type ConnectionOwner } from './connection.js';
import type { Connector } from './connector.js';
import { connectionError } from '../grammar/errors.js';

export interface ConnectionPoolOptions {
  /** Value of the `Host` field: `host:port`. */
  readonly host: string;
  readonly maxConnections: number;
  /** How long an idle connection is kept if the server sends no `Keep-Alive` timeout. */
  readonly idleMs: number;
}

/**
 * How long before the server's idle timeout the pool closes a connection. A server may close an idle connection just as
 * the next request is sent (RFC 9112 section 9.5), so the pool must close it first.
 */
const EARLIER_THAN_SERVER_MS = 2_000;
/** Maximum idle time of a connection whose server sends a longer `Keep-Alive` timeout. */
const LONGEST_IDLE_MS = 60_000;
const SWEEP_INTERVAL_MS = 500;
/**
 * Maximum time between two sweeps. A longer time means that the process was blocked. Servers may have closed idle
 * connections in the meantime, and the process has not noticed yet. A request on such a connection is lost, and not
 * every request can be retried.
 */
const LONGEST_PAUSE_MS = 1_500;

export class ConnectionPool implements ConnectionOwner {
  private readonly open = new Set<Connection>();
  /** Idle connections, used as a stack. Surplus connections therefore stay unused and expire. */
  private readonly idle: Connection[] = [];
  /** Calls that wait for a connection, oldest first. */
  private readonly queue: Call[] = [];
  private connecting = 0;
  private readonly fixedLines: string;
  private sweeper: NodeJS.Timeout | undefined;
  /** Time of the last sweep (`performance.now()`). Meaningful only while `sweeper` is set. */
  private sweptMs = 0;
  private closeResolvers: (() => void)[] = [];
  private isClosed = false;

  constructor(
    private readonly connector: Connector,
    private readonly options: ConnectionPoolOptions,
  ) {
    this.fixedLines = `Host: ${options.host}\r\nConnection: keep-alive\r\n`;
  }

  /**
   * Sends a call on an idle connection. If there is none, queues the call and opens another connection if the limit
   * allows it. After `close`, fails the call.
   */
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

  /** Removes a call from the queue. Does nothing if the call has been assigned a connection. */
  cancel(call: Call): void {
    const at = this.queue.indexOf(call);
    if (at !== -1) this.queue.splice(at, 1);
  }

  /**
   * Closes the pool: fails new calls and closes idle connections. Resolves when the running and queued calls have
   * ended.
   */
  async close(): Promise<void> {
    this.isClosed = true;
    this.closeIdle();
    if (this.open.size > 0 || this.connecting > 0 || this.queue.length > 0) {
      await new Promise<void>((resolve) => void this.closeResolvers.push(resolve));
    }
    clearInterval(this.sweeper);
  }

  /** Closes the pool immediately: fails new, running and queued calls. */
  destroy(): Promise<void> {
    const reason = connectionError('TRAILGATE_POOL_CLOSED');
    const closed = this.close();
    for (const call of this.queue.splice(0)) call.onError(reason);
    for (const connection of this.open) connection.destroy(reason);
    this.resolveIfEmpty();
    return closed;
  }

  onFree(connection: Connection, idleMs: number): void {
    const call = this.queue.shift();
    if (call !== undefined) {
      this.serve(connection, call);
      return;
    }
    const limitMs = idleMs === -1 ? this.options.idleMs : Math.min(idleMs - EARLIER_THAN_SERVER_MS, LONGEST_IDLE_MS);
    if (this.isClosed || limitMs <= 0) {
      connection.destroy(connectionError('TRAILGATE_POOL_CLOSED'));
      return;
    }
    const nowMs = performance.now();
    connection.idleUntilMs = nowMs + limitMs;
    this.idle.push(connection);
    if (this.sweeper !== undefined) return;
    this.sweptMs = nowMs;
    this.sweeper = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS).unref();
  }

  /**
   * Closes all idle connections, because the server had already closed one connection. The remaining ones have been
   * idle for longer, and a retry must not use one of them.
   */
  onStale(): void {
    this.closeIdle();
  }

  onClosed(connection: Connection): void {
    this.open.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at !== -1) this.idle.splice(at, 1);
    this.openMore();
    this.resolveIfEmpty();
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
    // The call ended in `onConnection`, and the connection is still usable.
    if (!connection.serve(call) && this.open.has(connection)) this.onFree(connection, -1);
  }

  /** Opens connections until each queued call has one, up to the limit. */
  private openMore(): void {
    while (this.queue.length > this.connecting && this.open.size < this.options.maxConnections) this.connect();
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
    this.resolveIfEmpty();
  }

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

  private resolveIfEmpty(): void {
    if (!this.isClosed || this.open.size > 0 || this.connecting > 0 || this.queue.length > 0) return;
    for (const resolve of this.closeResolvers.splice(0)) resolve();
  }
}
