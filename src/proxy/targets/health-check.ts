/** Checks the health of an address periodically. Uses a separate connection, because all others may be busy. */
import type { ServiceConfig } from '../../config/model/schema.js';
import type { ResponseHead } from '../../http/backend/response-head.js';
import type { Call } from '../../http/backend/call.js';
import { verdictOf, type Verdict } from './balancer.js';
import type { Endpoint } from './endpoint.js';
import { upstreamFailure } from './upstream-errors.js';

export type HealthSettings = NonNullable<ServiceConfig['health']>;

/** Maximum share by which a pause is shortened at random, so that processes do not all check at the same time. */
const JITTER = 0.1;

export class HealthCheck {
  private successes = 0;
  private failures = 0;
  /** Whether any check has succeeded since the start. */
  private hasPassed = false;
  private stopped = false;
  private timer: NodeJS.Timeout | undefined;

  /** @param onResult called after each check for which enough consecutive checks had the same result. */
  constructor(
    private readonly endpoint: Endpoint,
    private readonly settings: HealthSettings,
    private readonly onResult: (passes: boolean) => void,
  ) {}

  start(): void {
    void this.check();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async check(): Promise<void> {
    const { verdict, reason } = await runCheck(this.endpoint, this.settings);
    if (this.stopped) return;
    if (verdict === 'bad') this.endpoint.checkFailure = reason;
    const pauseMs = this.settings.interval * (1 - JITTER * Math.random());
    this.timer = setTimeout(() => void this.check(), pauseMs);
    this.timer.unref();
    // A check that fails for a reason in this process says nothing about the address.
    if (verdict !== 'none') this.count(verdict === 'good', pauseMs);
  }

  /**
   * Counts a result. An address is in service until its checks fail. Until any check has succeeded, one success returns
   * the address to service, because its backend may start later than the gateway.
   */
  private count(passed: boolean, pauseMs: number): void {
    const { healthyAfter, unhealthyAfter, interval } = this.settings;
    this.successes = passed ? this.successes + 1 : 0;
    this.failures = passed ? 0 : this.failures + 1;
    const isEnough = !this.hasPassed || this.successes >= healthyAfter;
    this.hasPassed ||= passed;
    const moreSuccesses = this.hasPassed ? Math.max(0, healthyAfter - this.successes - 1) : 0;
    this.endpoint.checksPassFromMs = performance.now() + pauseMs + moreSuccesses * interval * (1 - JITTER);
    if (passed && isEnough) this.onResult(true);
    if (!passed && this.failures >= unhealthyAfter) this.onResult(false);
  }
}

/** Result of one check. */
interface CheckResult {
  readonly verdict: Verdict;
  /** Reason for the failure; undefined after a success. */
  readonly reason?: string;
}

/** Performs one check on a new connection. Never rejects. */
async function runCheck(endpoint: Endpoint, { path, timeout }: HealthSettings): Promise<CheckResult> {
  const pool = endpoint.createPool(1, timeout);
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<CheckResult>((resolve) => {
      timer = setTimeout(() => resolve({ verdict: 'bad', reason: `no response within ${timeout} ms` }), timeout);
      pool.dispatch(new HealthCall(path, resolve));
    });
  } finally {
    clearTimeout(timer);
    // Discard the rest of the response. Only its head matters.
    void pool.destroy();
  }
}

/** HealthCall is the request of one check. Only a 2xx response is a success. */
class HealthCall implements Call {
  readonly method = 'GET';
  readonly fieldLines = 'User-Agent: trailgate-health\r\n';
  readonly body = null;
  readonly bodyBytes = -1;

  constructor(
    readonly target: string,
    private readonly resolve: (result: CheckResult) => void,
  ) {}

  onHead({ status }: ResponseHead): void {
    this.resolve(status >= 200 && status < 300 ? { verdict: 'good' } : { verdict: 'bad', reason: `status ${status}` });
  }

  onError(error: Error): void {
    const { outcome } = upstreamFailure(error);
    this.resolve({ verdict: verdictOf(outcome, 0), reason: error.message });
  }

  onConnection(): void {}
  onSent(): void {}
  onInterim(): void {}
  onWhole(): void {}
  onData(): void {}
  onPartial(): void {}
  onAnswered(): void {}
  onEnd(): void {}
}
