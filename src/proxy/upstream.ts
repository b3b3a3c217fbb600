/** A service's targets and the connections to them. */
import { Pool, type Dispatcher } from 'undici';
import type { ServiceConfig } from '../config/schema.js';
import { METRICS, type HistogramSeries } from '../metrics.js';
import type { UpstreamOutcome } from './upstream-errors.js';

/** How long an idle connection is kept; shorter than what servers usually allow, so that we close first. */
const KEEP_ALIVE_MS = 4_000;
const LARGEST_RESPONSE_HEAD_BYTES = 64 * 1024;

/** One origin of a service. */
export interface Target {
  readonly pool: Dispatcher;
  /** Path of the target, kept as a prefix; empty where it has none. */
  readonly prefix: string;
}

export class Upstream {
  private readonly targets: readonly Target[];
  private next = 0;
  private readonly durations = new Map<UpstreamOutcome, HistogramSeries>();

  constructor(
    readonly name: string,
    readonly config: ServiceConfig,
  ) {
    this.targets = config.targets.map((target) => {
      const url = new URL(target);
      return {
        pool: new Pool(url.origin, {
          connections: config.connections,
          pipelining: 1,
          connect: { timeout: config.timeouts.connect },
          keepAliveTimeout: KEEP_ALIVE_MS,
          // Deadlines are ours (`Deadlines`): undici's run from the start of a request, also while a large body is sent.
          headersTimeout: 0,
          bodyTimeout: 0,
          maxHeaderSize: LARGEST_RESPONSE_HEAD_BYTES,
        }),
        prefix: url.pathname.replace(/\/$/, ''),
      };
    });
  }

  /** The target for the next call, in turn. */
  pick(): Target {
    const target = this.targets[this.next % this.targets.length];
    if (target === undefined) throw new Error(`service ${this.name} has no target`);
    this.next = (this.next + 1) % this.targets.length;
    return target;
  }

  /** Records how a call ended. */
  record(outcome: UpstreamOutcome, durationMs: number): void {
    let series = this.durations.get(outcome);
    if (series === undefined) {
      series = METRICS.upstreamDuration.series(this.name, outcome);
      this.durations.set(outcome, series);
    }
    series.observe(durationMs / 1_000);
  }

  /** Closes idle connections and waits for the others, at most `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    const closed = Promise.all(this.targets.map(({ pool }) => pool.close()));
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref());
    await Promise.race([closed, timeout]);
    await Promise.all(this.targets.map(({ pool }) => pool.destroy()));
  }
}
