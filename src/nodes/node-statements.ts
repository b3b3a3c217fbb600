/**
 * Says every few seconds what this gateway sees, and hears what others say. In the background: whoever asks is told
 * what is known, with its age, and neither a request nor a probe waits for a store.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { boundedStatement, parseStatement, type HeardStatement, type NodeStatement } from './node-statement.js';
import { STATEMENT_LIFE_MS, type StatementBoard } from './statement-board.js';

/** Between the end of one time and the next. */
const INTERVAL_MS = 2_000;
/** Where there is much to read: so many times as long as that took, up to the longest. */
const PAUSE = 20;
const LONGEST_PAUSE_MS = 6_000;

interface Heard {
  readonly statement: NodeStatement;
  readonly ageMs: number;
  /** When it was heard, by `performance.now()`. */
  readonly heardMs: number;
}

export class NodeStatements {
  private readonly id = randomUUID();
  private say: (() => Omit<NodeStatement, 'targetsLeftOut'>) | undefined;
  private isFollowing = false;
  private isStopped = false;
  /** Whether what it said last stands there: while the board is away, nothing is to be taken back. */
  private stands = false;
  /** To the board and back; undefined between two times. */
  private talking: Promise<void> | undefined;
  private heard: readonly Heard[] = [];
  private timer: NodeJS.Timeout | undefined;

  /** @param board undefined: there is nobody to talk to. */
  constructor(private readonly board: StatementBoard | undefined) {}

  /** Says this from now on, at once and every two seconds. */
  publish(say: () => Omit<NodeStatement, 'targetsLeftOut'>): void {
    this.say = say;
    this.start();
  }

  /** Hears what others say from now on. */
  follow(): void {
    this.isFollowing = true;
    this.start();
  }

  /** What other nodes have said, as it was last heard; the youngest first. */
  others(): HeardStatement[] {
    const nowMs = performance.now();
    return this.heard
      .map(({ statement, ageMs, heardMs }) => ({ ...statement, ageMs: ageMs + nowMs - heardMs }))
      .filter(({ ageMs }) => ageMs <= STATEMENT_LIFE_MS)
      .toSorted((a, b) => a.ageMs - b.ageMs);
  }

  /** Takes back what it has said. Never rejects. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    // What is on its way would come after it.
    await this.talking;
    if (this.stands) await this.board?.remove(this.id).catch(() => undefined);
    this.board?.close();
  }

  /** Now, or as soon as what is under way is done. */
  private start(): void {
    clearTimeout(this.timer);
    if (this.board === undefined || this.isStopped) return;
    if (this.talking !== undefined) return void this.talking.then(() => this.start());
    this.talking = this.talk(this.board).then((readMs) => {
      this.talking = undefined;
      if (this.isStopped) return;
      const pauseMs = Math.max(INTERVAL_MS, Math.min(PAUSE * readMs, LONGEST_PAUSE_MS));
      this.timer = setTimeout(() => this.start(), pauseMs).unref();
    });
  }

  /**
   * Once to the board and back; answers with how long it has read (ms). Never rejects: a statement that cannot be put
   * grows old there, and that is seen.
   */
  private async talk(board: StatementBoard): Promise<number> {
    try {
      this.stands = false;
      if (this.say !== undefined) {
        await board.put(this.id, JSON.stringify(boundedStatement(this.say())));
        this.stands = true;
      }
      return this.isFollowing ? await this.listen(board) : 0;
    } catch {
      // What was heard last stands, and grows old.
      return 0;
    }
  }

  private async listen(board: StatementBoard): Promise<number> {
    const written = await board.all();
    const heardMs = performance.now();
    const heard: Heard[] = [];
    for (const { id, text, ageMs } of written) {
      const statement = id === this.id ? undefined : parseStatement(text);
      if (statement !== undefined) heard.push({ statement, ageMs: Math.max(0, ageMs), heardMs });
      // Requests have the core between two statements.
      await nextTurn();
    }
    this.heard = heard;
    return performance.now() - heardMs;
  }
}
