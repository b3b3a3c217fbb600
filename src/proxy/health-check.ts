/** Asks an address every so often whether it is well, on a connection of its own: the calls' may all be in use. */
import { Client } from 'undici';
import type { ServiceConfig } from '../config/schema.js';
import type { Endpoint } from './endpoint.js';

export type HealthSettings = NonNullable<ServiceConfig['health']>;

/** Checks of many processes must not fall on the same instant: each pause is up to this much shorter. */
const JITTER = 0.1;

export class HealthCheck {
  private successes = 0;
  private failures = 0;
  private hasPassed = false;
  private stopped = false;
  private timer: NodeJS.Timeout | undefined;

  /** @param onResult called with what holds from now on: when it changes, and with every success. */
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
    const passed = await ask(this.endpoint, this.settings);
    if (this.stopped) return;
    this.count(passed);
    this.timer = setTimeout(() => void this.check(), this.settings.interval * (1 - JITTER * Math.random()));
    this.timer.unref();
  }

  /** A target is in service until its checks say otherwise; one that starts later than we do is so with its first good answer. */
  private count(passed: boolean): void {
    this.successes = passed ? this.successes + 1 : 0;
    this.failures = passed ? 0 : this.failures + 1;
    if (passed && (!this.hasPassed || this.successes >= this.settings.healthyAfter)) this.onResult(true);
    if (!passed && this.failures >= this.settings.unhealthyAfter) this.onResult(false);
    this.hasPassed ||= passed;
  }
}

/** One check. Never rejects. */
async function ask(endpoint: Endpoint, { path, timeout }: HealthSettings): Promise<boolean> {
  const client = new Client(endpoint.origin, { connect: endpoint.connector(timeout) });
  try {
    const { statusCode, body } = await client.request({
      path,
      method: 'GET',
      headers: { 'user-agent': 'trailgate-health' },
      signal: AbortSignal.timeout(timeout),
    });
    // What follows the head is of no interest, and neither is how it ends.
    body.on('error', () => {}).destroy();
    return statusCode >= 200 && statusCode < 300;
  } catch {
    return false;
  } finally {
    void client.destroy();
  }
}
