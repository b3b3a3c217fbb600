/** Checks a configuration in a separate process with limits on time and memory, and receives the result. */
import { fork, type ChildProcess } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { getHeapStatistics } from 'node:v8';
import { ConfigReceiver, type ReceivedConfig } from '../../config/config-parts.js';
import type { Environment } from '../../config/model/schema.js';
import type { CheckRequest, FromCheck, ToCheck } from './check-messages.js';
import { lowerPriority } from './step-back.js';

/**
 * CheckResult is the result of a check. For a refused configuration, `files` are the paths whose change may fix the
 * problem.
 */
export type CheckResult =
  | ({ readonly kind: 'valid'; readonly warnings: readonly string[] } & ReceivedConfig)
  | { readonly kind: 'refused'; readonly problems: string; readonly files: readonly string[] };

/** CheckBounds are the limits of a check. Tests use other values. */
export interface CheckBounds {
  readonly file: string;
  readonly timeoutMs: number;
  /** Maximum size of V8's heap in the process, in MiB. */
  readonly memoryMb: number;
  /**
   * How long an idle process is kept for another check, in milliseconds. A kept process starts the check sooner, and
   * people often save several times.
   */
  readonly keptMs: number;
}

/** Timeout of a check. It is long, because a check uses a core for seconds and requests have priority. */
const CHECK_TIMEOUT_MS = 120_000;
/**
 * Heap limit of a check in MiB, which equals the limit of this process. A configuration that fits at the start also
 * fits in a check.
 */
const CHECK_MEMORY_MB = Math.ceil(getHeapStatistics().heap_size_limit / (1024 * 1024));
const CHECK_KEPT_MS = 10_000;
const BOUNDS: CheckBounds = {
  file: fileURLToPath(new URL('./check-process.js', import.meta.url)),
  timeoutMs: CHECK_TIMEOUT_MS,
  memoryMb: CHECK_MEMORY_MB,
  keptMs: CHECK_KEPT_MS,
};
/** Maximum resident memory of a process that is kept for another check. A larger process ends after its check. */
const MAX_KEPT_BYTES = 192 * 1024 * 1024;
/** Maximum number of kept characters of standard error. The reason of a failure is at its beginning. */
const MAX_STDERR_LENGTH = 4_096;
/** Matches debugger options, which the child must not inherit, because two processes cannot use one port. */
const NOT_INHERITED = /^--(inspect|debug)/;

export class ConfigCheck {
  private process: CheckProcess | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly bounds: CheckBounds = BOUNDS) {}

  /**
   * Reads and checks a configuration. Wait for the result before the next call. Never rejects. If the check itself
   * fails, the configuration is refused.
   */
  async run(request: CheckRequest): Promise<CheckResult> {
    clearTimeout(this.timer);
    try {
      if (this.process?.hasEnded !== false) this.process = new CheckProcess(this.bounds);
      const { result, residentBytes } = await this.process.check(request);
      if (residentBytes > MAX_KEPT_BYTES) this.stop();
      else this.timer = setTimeout(() => this.stop(), this.bounds.keptMs);
      return result;
    } catch (error) {
      this.stop();
      const reason = error instanceof Error ? error.message : String(error);
      return { kind: 'refused', problems: `It could not be checked: ${reason}`, files: [] };
    }
  }

  /** Ends the process. A check in progress then returns `refused`. */
  stop(): void {
    clearTimeout(this.timer);
    this.process?.kill();
    this.process = undefined;
  }
}

/** Checked is the result of a check with the resident memory of its process, in bytes. */
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
    lowerPriority(this.child.pid);
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(0, MAX_STDERR_LENGTH);
    });
    this.child.on('error', (error) => this.ended(error));
    // The listener is on `close`, because `exit` can precede the last output on standard error.
    this.child.on('close', (code, signal) => this.ended(new Error(endOf(code, signal, this.stderr, memoryMb))));
    this.child.on('message', (message: FromCheck) => {
      if (this.pending?.addMessage(message) === false) void nextTurn().then(() => this.send({ type: 'next' }));
    });
  }

  /** Checks a configuration. Rejects if the check exceeds the timeout, or if the process ends. */
  async check(request: CheckRequest): Promise<Checked> {
    const { timeoutMs } = this.bounds;
    const pending = new PendingCheck(request.environment);
    this.pending = pending;
    const expire = (): void => pending.fail(new Error(`it took longer than ${timeoutMs / 1_000} s`));
    const timer = setTimeout(expire, timeoutMs);
    this.send({ type: 'check', request });
    try {
      return await pending.complete;
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
    this.pending?.fail(why);
  }

  private send(message: ToCheck): void {
    // Errors of `send` are ignored, because the listener on `close` reports a process that has ended.
    if (this.child.connected) this.child.send(message, () => undefined);
  }
}

/** PendingCheck assembles the result of a check from its messages. */
class PendingCheck {
  readonly complete: Promise<Checked>;
  private readonly resolvers = Promise.withResolvers<Checked>();
  private readonly received: ConfigReceiver;
  private warnings: readonly string[] = [];
  private residentBytes = 0;

  constructor(environment: Environment) {
    this.complete = this.resolvers.promise;
    this.received = new ConfigReceiver(environment);
  }

  /** Adds a message. Reports whether the result is complete. */
  addMessage(message: FromCheck): boolean {
    if (message.type !== 'part') this.residentBytes = message.residentBytes;
    if (message.type === 'valid') this.warnings = message.warnings;
    const result = message.type === 'refused' ? refused(message) : this.validResult(message);
    if (result === undefined) return false;
    this.resolvers.resolve({ result, residentBytes: this.residentBytes });
    return true;
  }

  fail(why: Error): void {
    this.resolvers.reject(why);
  }

  private validResult(message: FromCheck): CheckResult | undefined {
    const complete = message.type === 'part' ? this.received.addPart(message.part) : undefined;
    return complete && { kind: 'valid', warnings: this.warnings, ...complete };
  }
}

function refused({ problems, files }: Extract<FromCheck, { type: 'refused' }>): CheckResult {
  return { kind: 'refused', problems, files };
}

/** Explains why a process ended before its result was complete. */
function endOf(code: number | null, signal: string | null, stderr: string, memoryMb: number): string {
  if (/heap out of memory|heap limit/i.test(stderr)) return `it took more than ${memoryMb} MB of memory`;
  if (signal === 'SIGKILL') return 'its process was killed (SIGKILL), perhaps because the system had no memory left';
  const exit = signal === null ? `exit code ${code}` : signal;
  const line = stderr.split('\n').find((each) => /^(\w*Error\b|node: )/.test(each));
  return line === undefined ? `its process ended (${exit})` : `its process ended (${exit}): ${line.trim()}`;
}
