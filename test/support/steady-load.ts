/**
 * Open-loop load: sends each request at its scheduled time, even if earlier ones are unanswered. Latency counts from
 * the scheduled time, so it includes the waiting time while a service stalls. A closed loop would not show that.
 */
import { Agent } from 'node:http';
import { send } from './http.js';

const TICK_MS = 4;

export interface Origin {
  /** Name of the origin in its samples. */
  readonly name: string;
  readonly gatewayUrl: string;
  readonly secret: string;
  /** Path relative to the base path. `/open` by default. */
  readonly path?: string;
}

export interface Sample {
  readonly name: string;
  /** Scheduled time, by `performance.now()`. */
  readonly atMs: number;
  readonly tookMs: number;
  /** Status of the response. 0 if the request failed. */
  readonly status: number;
}

export class SteadyLoad {
  readonly samples: Sample[] = [];
  private readonly agent = new Agent({ keepAlive: true });
  private readonly pending = new Set<Promise<void>>();
  private readonly startedMs = performance.now();
  private readonly timer: NodeJS.Timeout;
  private sent = 0;

  /** Starts to send `perSecond` requests per second, to the origins in turn. The caller must stop it. */
  constructor(
    private readonly origins: readonly Origin[],
    private readonly perSecond: number,
  ) {
    this.timer = setInterval(() => this.tick(), TICK_MS);
  }

  /** Returns the samples of `name`, or of all names, that were scheduled in this period. */
  between(fromMs: number, toMs: number, name?: string): Sample[] {
    return this.samples.filter(
      (sample) => sample.atMs >= fromMs && sample.atMs < toMs && (name === undefined || sample.name === name),
    );
  }

  /** Stops sending, and waits for the requests in progress. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.pending);
    this.agent.destroy();
  }

  private tick(): void {
    const due = ((performance.now() - this.startedMs) / 1_000) * this.perSecond;
    for (; this.sent < due; this.sent++) {
      const request = this.one(this.origins[this.sent % this.origins.length]!, this.startedMs + (this.sent / this.perSecond) * 1_000); // prettier-ignore
      this.pending.add(request);
      void request.then(() => this.pending.delete(request));
    }
  }

  private async one({ name, gatewayUrl, secret, path = '/open' }: Origin, atMs: number): Promise<void> {
    const headers = { Authorization: `Bearer ${secret}` };
    const status = await send(`${gatewayUrl}/api/v1${path}`, { agent: this.agent, headers }).then(
      (answer) => answer.status,
      () => 0,
    );
    this.samples.push({ name, atMs, tookMs: performance.now() - atMs, status });
  }
}

/** Returns the quantile of the values at `share`, from 0 to 1. NaN if there are no values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
