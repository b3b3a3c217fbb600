/**
 * Exchanges statements with other nodes every few seconds. This runs in the background. Callers get the last known
 * statements with their age, so that no request or probe waits for a store.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { boundedStatement, parseStatement, type HeardStatement, type NodeStatement } from './node-statement.js';
import { STATEMENT_LIFE_MS, type StatementBoard } from './statement-board.js';

const INTERVAL_MS = 2_000;
/** After a long read, the pause is this many times its duration, up to the longest. */
const PAUSE_FACTOR = 20;
const LONGEST_PAUSE_MS = 6_000;

interface ReceivedStatement {
  readonly statement: NodeStatement;
  readonly ageMs: number;
  /** Time of receipt (`performance.now()`). */
  readonly receivedMs: number;
}

export class NodeStatements {
  private readonly id = randomUUID();
  private describe: (() => Omit<NodeStatement, 'targetsLeftOut'>) | undefined;
  private isFollowing = false;
  private isStopped = false;
  /** Whether the board has our last statement. If the board is unavailable, there is nothing to remove. */
  private isOnBoard = false;
  /** The running exchange. Undefined between two exchanges. */
  private exchange: Promise<void> | undefined;
  private received: readonly ReceivedStatement[] = [];
  private timer: NodeJS.Timeout | undefined;

  /** @param board undefined if there are no other nodes. */
  constructor(private readonly board: StatementBoard | undefined) {}

  /** Publishes statements from now on, at once and every two seconds. */
  publish(describe: () => Omit<NodeStatement, 'targetsLeftOut'>): void {
    this.describe = describe;
    this.start();
  }

  /** Reads other nodes' statements from now on. */
  follow(): void {
    this.isFollowing = true;
    this.start();
  }

  /** Returns the last known statements of other nodes, latest first. */
  others(): HeardStatement[] {
    const nowMs = performance.now();
    return this.received
      .map(({ statement, ageMs, receivedMs }) => ({ ...statement, ageMs: ageMs + nowMs - receivedMs }))
      .filter(({ ageMs }) => ageMs <= STATEMENT_LIFE_MS)
      .toSorted((a, b) => a.ageMs - b.ageMs);
  }

  /** Stops, and removes our statement from the board. Never rejects. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    // A running exchange could put the statement back.
    await this.exchange;
    if (this.isOnBoard) await this.board?.remove(this.id).catch(() => undefined);
    this.board?.close();
  }

  /** Starts an exchange now, or after the running one. */
  private start(): void {
    clearTimeout(this.timer);
    if (this.board === undefined || this.isStopped) return;
    if (this.exchange !== undefined) return void this.exchange.then(() => this.start());
    this.exchange = this.exchangeStatements(this.board).then((readMs) => {
      this.exchange = undefined;
      if (this.isStopped) return;
      const pauseMs = Math.max(INTERVAL_MS, Math.min(PAUSE_FACTOR * readMs, LONGEST_PAUSE_MS));
      this.timer = setTimeout(() => this.start(), pauseMs).unref();
    });
  }

  /**
   * Writes our statement and reads the others. Resolves to the duration of the read in milliseconds. Never rejects: if
   * the write fails, the others show our previous statement with its age.
   */
  private async exchangeStatements(board: StatementBoard): Promise<number> {
    try {
      this.isOnBoard = false;
      if (this.describe !== undefined) {
        await board.put(this.id, JSON.stringify(boundedStatement(this.describe())));
        this.isOnBoard = true;
      }
      return this.isFollowing ? await this.readOthers(board) : 0;
    } catch {
      // The last statements stay, with growing age.
      return 0;
    }
  }

  private async readOthers(board: StatementBoard): Promise<number> {
    const written = await board.all();
    const receivedMs = performance.now();
    const received: ReceivedStatement[] = [];
    for (const { id, text, ageMs } of written) {
      const statement = id === this.id ? undefined : parseStatement(text);
      if (statement !== undefined) received.push({ statement, ageMs: Math.max(0, ageMs), receivedMs });
      // Let requests run between two statements.
      await nextTurn();
    }
    this.received = received;
    return performance.now() - receivedMs;
  }
}
