/**
 * The program's end of the counting process: starts it, looks whether it lives, and puts another in its place when it
 * has ended or hangs. Workers connect again by themselves, to the same socket.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FromCounting, ToCounting } from '../../quota/counting/counting-messages.js';
import { LUA_HASH } from '../../quota/counting/lua.js';
import { keepSocketFolder, makeSocketFolder, removeSocketFolder } from '../../quota/counting/socket-folder.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';

/** What bounds it; others in tests. */
export interface CountingBounds {
  readonly program: string;
  readonly askIntervalMs: number;
  /** Longest that a start waits for it. */
  readonly startTimeoutMs: number;
}

/** Longest that a start waits for it. */
const START_TIMEOUT_MS = 10_000;
const BOUNDS: CountingBounds = {
  program: fileURLToPath(new URL('../../quota/counting/counting-process.js', import.meta.url)),
  askIntervalMs: 1_000,
  startTimeoutMs: START_TIMEOUT_MS,
};
/** So many questions in a row without a reply: it hangs. Counted, because this process may have stood still itself. */
const MOST_UNHEARD = 10;
/** Before one that has ended is replaced; nothing the first time, doubles while they go on ending young. */
const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** One that lived as long as this was no failed start. */
const GROWN_UP_MS = 60_000;
/** Two processes cannot listen to one debugger. */
const NOT_INHERITED = /^--(inspect|debug)/;
/** Longest path of a socket that every system takes. */
const LONGEST_PATH = 103;

/** CountingChild keeps one counting process running. */
export class CountingChild {
  private child: ChildProcess | undefined;
  /** Of its socket; undefined while there is none. */
  private path: string | undefined;
  /** From when on it has to reply. */
  private listens = false;
  /** One has listened: something may have been counted. */
  private hasCounted = false;
  private startedMs = 0;
  private pauseMs = 0;
  private asked = 0;
  private heard = 0;
  private asking: NodeJS.Timeout | undefined;
  private restarting: NodeJS.Timeout | undefined;
  private isStopped = false;
  private readonly bounds: CountingBounds;

  /**
   * @param workers how many count in it: one in the place of another waits for them.
   * @param lockedFolder the data folder whose counters nobody else may have meanwhile.
   */
  constructor(
    private readonly workers: number,
    private readonly lockedFolder: string | undefined,
    private readonly log: Logger,
    bounds: Partial<CountingBounds> = {},
  ) {
    this.bounds = { ...BOUNDS, ...bounds };
  }

  /**
   * Starts it, in a folder that nobody else can look into.
   * @returns the path of the socket, for `connectRedis`, when it listens. Rejects with one line that says why not.
   */
  async start(): Promise<string> {
    const path = makeSocketFolder();
    this.path = path;
    if (Buffer.byteLength(path) > LONGEST_PATH) {
      this.removeFolder();
      throw new Error(`${path} is too long for a socket: set TMPDIR to a shorter folder`);
    }
    try {
      await this.run(path);
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.asking = setInterval(() => this.ask(), this.bounds.askIntervalMs);
    this.asking.unref();
    return path;
  }

  /** Ends it, and removes its folder. Never rejects. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.asking);
    clearTimeout(this.restarting);
    const { child } = this;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
    }
    this.removeFolder();
  }

  /** Resolves when one listens; rejects when it ends before. From then on it is replaced when it ends. */
  private async run(path: string): Promise<void> {
    this.startedMs = performance.now();
    keepSocketFolder(path);
    const execArgv = process.execArgv.filter((argument) => !NOT_INHERITED.test(argument));
    const args = [String(this.hasCounted ? this.workers : 0), path, this.lockedFolder ?? ''];
    const child = fork(this.bounds.program, args, { execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.child = child;
    this.listens = false;
    let reason: string | undefined;
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => {
        reason = `did not listen within ${this.bounds.startTimeoutMs / 1_000} s`;
        child.kill('SIGKILL');
      }, this.bounds.startTimeoutMs);
      child.on('error', reject);
      child.on('message', (message: FromCounting) => {
        if (message.type === 'alive') this.heard = message.id;
        else if (message.type === 'incomplete') this.incomplete(message.missing);
        else if (message.type === 'failed') ({ reason } = message);
        if (message.type !== 'listening') return;
        clearTimeout(late);
        this.listens = true;
        this.hasCounted = true;
        this.heard = this.asked;
        if (message.lua !== LUA_HASH) this.isOther();
        resolve();
      });
      child.once('exit', (code, signal) => {
        clearTimeout(late);
        if (this.listens) this.ended(child, code, signal);
        else reject(new Error(`the counting process ended at start (${reason ?? signal ?? `exit code ${code}`})`));
      });
    });
  }

  private ended({ pid }: ChildProcess, code: number | null, signal: string | null): void {
    if (this.isStopped) return;
    METRICS.workerRestarts.series().inc();
    this.log.error(
      { event: 'counting_process_ended', pid, code, signal },
      'The counting process is replaced: minutes begin anew, months are brought back',
    );
    if (performance.now() - this.startedMs > GROWN_UP_MS) this.pauseMs = 0;
    this.replaceSoon();
  }

  /** An upgrade in place: what is started now is of another version than what runs. */
  private isOther(): void {
    const text =
      'The files of the program were replaced while it runs, and the process that counts may not know its calls: ' +
      'plans may decide by onRedisLoss until the program is restarted';
    this.log.error({ event: 'counting_process_other_version' }, text);
  }

  private incomplete(missing: number): void {
    this.log.warn(
      { event: 'counting_process_incomplete', missing },
      'Workers have not handed in what they know in time: until they do, a month may be exceeded by that',
    );
  }

  private replaceSoon(): void {
    const replace = async (): Promise<void> => {
      if (this.isStopped || this.path === undefined) return;
      try {
        await this.run(this.path);
      } catch (error) {
        // The end of the program ended it.
        if (this.isStopped) return;
        const text = 'The counting process could not be replaced; tried again';
        this.log.error({ event: 'counting_process_start_failed', err: error }, text);
        this.replaceSoon();
      }
    };
    this.restarting = setTimeout(() => void replace(), this.pauseMs);
    this.pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, this.pauseMs * 2));
  }

  private ask(): void {
    const { child } = this;
    if (!this.listens || child?.connected !== true) return;
    if (this.asked - this.heard >= MOST_UNHEARD) {
      this.log.error({ event: 'counting_process_hangs', pid: child.pid }, 'The counting process hangs, and is killed');
      child.kill('SIGKILL');
      return;
    }
    const message: ToCounting = { type: 'ask', id: ++this.asked };
    // One that has ended is noticed by `exit`.
    child.send(message, () => undefined);
  }

  private removeFolder(): void {
    if (this.path !== undefined) removeSocketFolder(this.path);
    this.path = undefined;
  }
}
