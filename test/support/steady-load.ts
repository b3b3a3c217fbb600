/**
 * An open loop: requests go out at their time, whether or not the ones before were answered, and latency counts from that time. What a
 * service that stalls makes its callers wait shows here, and not in a loop that waits with it.
 */
import { Agent } from 'node:http';
import { send } from './http.js';

const TICK_MS = 4;

export interface Origin {
  /** Name of the origin in its samples. */
  readonly name: string;
  readonly gatewayUrl: string;
  readonly secret: string;
  /** Relative to the base path; `/open` unless said. */
  readonly path?: string;
}

export interface Sample {
  readonly name: string;
  /** When it was to be sent; `performance.now()`. */
  readonly atMs: number;
  readonly tookMs: number;
  /** 0 where the connection broke. */
  readonly status: number;
}

export class SteadyLoad {
  readonly samples: Sample[] = [];
  private readonly agent = new Agent({ keepAlive: true });
  private readonly pending = new Set<Promise<void>>();
  private readonly startedMs = performance.now();
  private readonly timer: NodeJS.Timeout;
  private sent = 0;

  /** Sends `perSecond` requests in turn to the origins, from now on. */
  constructor(
    private readonly origins: readonly Origin[],
    private readonly perSecond: number,
  ) {
    this.timer = setInterval(() => this.tick(), TICK_MS);
  }

  /** The samples of a name, or of all, whose time was in between. */
  between(fromMs: number, toMs: number, name?: string): Sample[] {
    return this.samples.filter(
      (sample) => sample.atMs >= fromMs && sample.atMs < toMs && (name === undefined || sample.name === name),
    );
  }

  /** Stops sending, and waits for what is under way. */
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

/** The value below which so much of them lies, 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
