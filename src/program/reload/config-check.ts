/** Checks a configuration in a separate process with limits on time and memory, and receives the result. */
import { fork, type ChildProcess } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { getHeapStatistics } from 'node:v8';
import { ConfigReceiver, type ReceivedConfig } from '../../config/config-parts.js';
import type { Environment } from '../../config/model/schema.js';
import type { CheckRequest, FromCheck, ToCheck } from './check-messages.js';
import { stepBack } from './step-back.js';

/** Result of a check. */
export type CheckResult =
  | ({ readonly kind: 'valid'; readonly warnings: readonly string[] } & ReceivedConfig)
  | { readonly kind: 'refused'; readonly problems: string; readonly files: readonly string[] };

/** Limits of a check. Tests use others. */
export interface CheckBounds {
  readonly file: string;
  readonly timeoutMs: number;
  /** Maximum size of V8's heap. */
  readonly memoryMb: number;
  /** How long the process stays for another check, which then begins sooner. People often save several times. */
  readonly keptMs: number;
}

/** Long, because requests have priority. A check takes seconds of a core. */
const CHECK_TIMEOUT_MS = 120_000;
/** The limit of this process, so that a file that was accepted at the start is accepted again. */
const CHECK_MEMORY_MB = Math.ceil(getHeapStatistics().heap_size_limit / (1024 * 1024));
const CHECK_KEPT_MS = 10_000;
const BOUNDS: CheckBounds = {
  file: fileURLToPath(new URL('./check-process.js', import.meta.url)),
  timeoutMs: CHECK_TIMEOUT_MS,
  memoryMb: CHECK_MEMORY_MB,
  keptMs: CHECK_KEPT_MS,
};
/** A process with more memory ends after its check. */
const KEPT_BYTES = 192 * 1024 * 1024;
/** Maximum length of standard error that is kept. The reason of a failure is at its beginning. */
const MOST_STDERR_LENGTH = 4_096;
/** Debugger options, because two processes cannot use one port. */
const NOT_INHERITED = /^--(inspect|debug)/;

export class ConfigCheck {
  private process: CheckProcess | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly bounds: CheckBounds = BOUNDS) {}

  /**
   * Reads and checks a configuration. Wait for the result before the next call. Never rejects: if the check itself
   * fails, the configuration is refused.
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

  /** Ends the process, and a check in progress. */
  stop(): void {
    clearTimeout(this.timer);
    this.process?.kill();
    this.process = undefined;
  }
}

/** Result of a check with the memory of its process. */
interface Checked {
  readonly result: CheckResult;
  readonly residentBytes: number;
}

class CheckProcess {
  hasEnded = false;
  private readonly child: ChildProcess;
  private pending: PendingCheck | undefined;
  private stderr = '';

  /** @throws if the system cannot start a process */
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
    // Not `exit`, which can precede the last output.
    this.child.on('close', (code, signal) => this.ended(new Error(endOf(code, signal, this.stderr, memoryMb))));
    this.child.on('message', (message: FromCheck) => {
      if (this.pending?.take(message) === false) void nextTurn().then(() => this.tell({ type: 'next' }));
    });
  }

  /** Rejects if the check takes too long, or the process ends. */
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
    // `close` reports a process that has ended.
    if (this.child.connected) this.child.send(message, () => undefined);
  }
}

/** PendingCheck assembles the messages of a check. */
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

  /** Adds a message. Returns whether the result is complete. */
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

/** Explains why a process ended before its result was complete. */
function endOf(code: number | null, signal: string | null, stderr: string, memoryMb: number): string {
  if (/heap out of memory|heap limit/i.test(stderr)) return `it took more than ${memoryMb} MB of memory`;
  if (signal === 'SIGKILL') return 'its process was killed (SIGKILL), perhaps because the system had no memory left';
  const how = signal === null ? `exit code ${code}` : signal;
  const line = stderr.split('\n').find((each) => /^(\w*Error\b|node: )/.test(each));
  return line === undefined ? `its process ended (${how})` : `its process ended (${how}): ${line.trim()}`;
}
