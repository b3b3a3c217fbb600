/**
 * Manages the counting process: starts it, monitors it, and replaces it if it ends or hangs. Workers reconnect to the
 * same socket.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FromCounting, ToCounting } from '../../quota/counting/counting-messages.js';
import { LUA_HASH } from '../../quota/counting/lua.js';
import { keepSocketFolder, makeSocketFolder, removeSocketFolder } from '../../quota/counting/socket-folder.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';

/** CountingBounds are the program and the time limits of the counting process. Tests replace them. */
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
/**
 * Number of consecutive unanswered health checks after which the process counts as hanging. A time limit would be
 * wrong, because this process may have been blocked as well.
 */
const MAX_UNHEARD = 10;
/**
 * Limits of the pause before a replacement. The first replacement starts without a pause. The pause doubles while
 * processes end early.
 */
const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** Lifetime after which the end of a process is no longer considered early. The pause then starts again at 0. */
const GROWN_UP_MS = 60_000;
/** Matches debugger options, which the child must not inherit, because only one process can use the debugger port. */
const NOT_INHERITED = /^--(inspect|debug)/;
/** Maximum length in bytes of a socket path that all systems support. */
const LONGEST_PATH = 103;

/** CountingChild keeps one counting process running. */
export class CountingChild {
  private child: ChildProcess | undefined;
  /** Path of the socket. Undefined before `start` and after `stop`. */
  private path: string | undefined;
  /** Whether the process listens and must respond to health checks. */
  private listens = false;
  /** Whether a process has listened, and may have counted requests. */
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
   * @param workers number of workers, whose counts a replacement waits for
   * @param lockedFolder the locked data folder; undefined if the database is not SQLite
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
   * Starts the process with a socket in a private folder.
   * @returns the path of the socket for `connectRedis`. Rejects with a message for the operator.
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

  /** Ends the process, and removes the folder of its socket. Never rejects. */
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

  /**
   * Starts a process. Resolves when the process listens. Rejects if the process fails to start, or ends before it
   * listens. If the process ends later, `ended` replaces it.
   */
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

  /**
   * Logs that the new process has another version than this program, because an upgrade replaced the program's files.
   */
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
        // The shutdown has ended the process.
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
    if (this.asked - this.heard >= MAX_UNHEARD) {
      this.log.error({ event: 'counting_process_hangs', pid: child.pid }, 'The counting process hangs, and is killed');
      child.kill('SIGKILL');
      return;
    }
    const message: ToCounting = { type: 'ask', id: ++this.asked };
    // Errors are ignored, because the `exit` event follows.
    child.send(message, () => undefined);
  }

  private removeFolder(): void {
    if (this.path !== undefined) removeSocketFolder(this.path);
    this.path = undefined;
  }
}
