/** The program's end of the process that checks a configuration: starts it, bounds it, takes in what it says. */
import { fork, type ChildProcess } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { getHeapStatistics } from 'node:v8';
import { ConfigReceiver, type ReceivedConfig } from '../../config/config-parts.js';
import type { Environment } from '../../config/model/schema.js';
import type { CheckRequest, FromCheck, ToCheck } from './check-messages.js';
import { stepBack } from './step-back.js';

/** What came of a check. */
export type CheckResult =
  | ({ readonly kind: 'valid'; readonly warnings: readonly string[] } & ReceivedConfig)
  | { readonly kind: 'refused'; readonly problems: string; readonly files: readonly string[] };

/** What bounds a check; others in tests. */
export interface CheckBounds {
  readonly file: string;
  readonly timeoutMs: number;
  /** Of V8's heap. */
  readonly memoryMb: number;
  /** How long a process waits for another check: whoever edits saves again, and it begins quicker then. */
  readonly keptMs: number;
}

/** Long, because requests go first: it takes seconds of a core that others may want as well. */
const CHECK_TIMEOUT_MS = 120_000;
/** The limit of this process, so that what it loaded at its start can be loaded again. */
const CHECK_MEMORY_MB = Math.ceil(getHeapStatistics().heap_size_limit / (1024 * 1024));
const CHECK_KEPT_MS = 10_000;
const BOUNDS: CheckBounds = {
  file: fileURLToPath(new URL('./check-process.js', import.meta.url)),
  timeoutMs: CHECK_TIMEOUT_MS,
  memoryMb: CHECK_MEMORY_MB,
  keptMs: CHECK_KEPT_MS,
};
/** A process that holds more does not wait for another check. */
const KEPT_BYTES = 192 * 1024 * 1024;
/** Of what a process that failed has written to its standard error: the reason stands at its beginning. */
const MOST_STDERR_LENGTH = 4_096;
/** Two processes cannot listen to one debugger. */
const NOT_INHERITED = /^--(inspect|debug)/;

export class ConfigCheck {
  private process: CheckProcess | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly bounds: CheckBounds = BOUNDS) {}

  /**
   * Reads and checks in a process of its own; to be awaited before the next one. Never rejects: a check that fails is a
   * configuration that is refused.
   */
  async run(request: CheckRequest): Promise<CheckResult> {
    clearTimeout(this.timer);
    try {
      if (this.process?.hasEnded !== false) this.process = new CheckProcess(this.bounds);
      const { result, residentBytes } = await this.process.check(request);
      if (residentBytes > KEPT_BYTES) this.stop();
      else this.timer = setTimeout(() => this.stop(), this.bounds.keptMs);
      return result;
    } catch (error) {
      this.stop();
      const reason = error instanceof Error ? error.message : String(error);
      return { kind: 'refused', problems: `It could not be checked: ${reason}`, files: [] };
    }
  }

  /** Ends what is under way, and what waits. */
  stop(): void {
    clearTimeout(this.timer);
    this.process?.kill();
    this.process = undefined;
  }
}

/** What a process has said, and how much memory it held then. */
interface Checked {
  readonly result: CheckResult;
  readonly residentBytes: number;
}

class CheckProcess {
  hasEnded = false;
  private readonly child: ChildProcess;
  private pending: PendingCheck | undefined;
  private stderr = '';

  /** @throws where the system has none. */
  constructor(private readonly bounds: CheckBounds) {
    const { file, memoryMb } = bounds;
    const inherited = process.execArgv.filter((argument) => !NOT_INHERITED.test(argument));
    this.child = fork(file, [], {
      execArgv: [...inherited, `--max-old-space-size=${memoryMb}`],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    stepBack(this.child.pid);
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(0, MOST_STDERR_LENGTH);
    });
    this.child.on('error', (error) => this.ended(error));
    // Not `exit`: what it has written comes first.
    this.child.on('close', (code, signal) => this.ended(new Error(endOf(code, signal, this.stderr, memoryMb))));
    this.child.on('message', (message: FromCheck) => {
      if (this.pending?.take(message) === false) void nextTurn().then(() => this.tell({ type: 'next' }));
    });
  }

  /** Rejects where it takes too long, and where the process ends. */
  async check(request: CheckRequest): Promise<Checked> {
    const { timeoutMs } = this.bounds;
    const pending = new PendingCheck(request.environment);
    this.pending = pending;
    const late = (): void => pending.failed(new Error(`it took longer than ${timeoutMs / 1_000} s`));
    const timer = setTimeout(late, timeoutMs);
    this.tell({ type: 'check', request });
    try {
      return await pending.whole;
    } finally {
      clearTimeout(timer);
      this.pending = undefined;
    }
  }

  kill(): void {
    this.hasEnded = true;
    this.child.kill('SIGKILL');
  }

  private ended(why: Error): void {
    this.hasEnded = true;
    this.pending?.failed(why);
  }

  private tell(message: ToCheck): void {
    // One that has ended is noticed by `close`.
    if (this.child.connected) this.child.send(message, () => undefined);
  }
}

/** What a process says, put together. */
class PendingCheck {
  readonly whole: Promise<Checked>;
  private readonly resolvers = Promise.withResolvers<Checked>();
  private readonly received: ConfigReceiver;
  private warnings: readonly string[] = [];
  private residentBytes = 0;

  constructor(environment: Environment) {
    this.whole = this.resolvers.promise;
    this.received = new ConfigReceiver(environment);
  }

  /** @returns whether it is whole. */
  take(message: FromCheck): boolean {
    if (message.type !== 'part') this.residentBytes = message.residentBytes;
    if (message.type === 'valid') this.warnings = message.warnings;
    const result = message.type === 'refused' ? refused(message) : this.valid(message);
    if (result === undefined) return false;
    this.resolvers.resolve({ result, residentBytes: this.residentBytes });
    return true;
  }

  failed(why: Error): void {
    this.resolvers.reject(why);
  }

  private valid(message: FromCheck): CheckResult | undefined {
    const whole = message.type === 'part' ? this.received.take(message.part) : undefined;
    return whole && { kind: 'valid', warnings: this.warnings, ...whole };
  }
}

function refused({ problems, files }: Extract<FromCheck, { type: 'refused' }>): CheckResult {
  return { kind: 'refused', problems, files };
}

/** Why a process has ended that was not done. */
function endOf(code: number | null, signal: string | null, stderr: string, memoryMb: number): string {
  if (/heap out of memory|heap limit/i.test(stderr)) return `it took more than ${memoryMb} MB of memory`;
  if (signal === 'SIGKILL') return 'its process was killed (SIGKILL), perhaps because the system had no memory left';
  const how = signal === null ? `exit code ${code}` : signal;
  const line = stderr.split('\n').find((each) => /^(\w*Error\b|node: )/.test(each));
  return line === undefined ? `its process ended (${how})` : `its process ended (${how}): ${line.trim()}`;
}
