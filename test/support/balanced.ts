/** A balancer over addresses of a service. The test controls the time. */
import { configSchema } from '../../src/config/model/schema.js';
import { Balancer } from '../../src/proxy/targets/balancer.js';
import type { EjectionSettings } from '../../src/proxy/targets/ejection.js';
import { Endpoint } from '../../src/proxy/targets/endpoint.js';
import { TargetSeries } from '../../src/proxy/targets/upstream-metrics.js';

const { services } = configSchema.parse({
  services: { s: { targets: ['http://127.0.0.1:9'], connections: 4 } },
  plans: {},
});
const config = services['s'];

/** Ejects after 3 failures in a row, or if 25% of at least 20 calls fail. Ejections last 10 s, and at most 25 s. */
export const EJECTION: EjectionSettings = {
  failures: 3,
  share: 0.25,
  requests: 20,
  window: 20_000,
  duration: 10_000,
  longest: 25_000,
};

export const GET = { isRepeatable: true };
export const POST = { isRepeatable: false };

/** Balanced holds a balancer and its endpoints. The test must stop it. */
export class Balanced {
  endpoints: Endpoint[] = [];
  balancer = new Balancer(undefined, () => {});
  /** State changes such as `t0 ejected`, in order. */
  changes: string[] = [];
  nowMs = 1_000_000;

  /** Creates `count` endpoints, `t0`, `t1` and so on. */
  make(count: number, ejection?: EjectionSettings): void {
    if (config === undefined) throw new Error('no service');
    this.endpoints = Array.from(
      { length: count },
      (_, index) =>
        new Endpoint(`t${index}`, new TargetSeries('s', `t${index}`), 'http://127.0.0.1:9', '', undefined, config),
    );
    const changes: string[] = [];
    this.changes = changes;
    this.balancer = new Balancer(ejection, ({ target, state }) => changes.push(`${target} ${state}`));
    this.balancer.setEndpoints(this.endpoints);
  }

  at(index: number): Endpoint {
    const endpoint = this.endpoints[index];
    if (endpoint === undefined) throw new Error('no such endpoint');
    return endpoint;
  }

  /** Records `times` failed calls to an endpoint, 100 ms apart. */
  fail(index: number, times: number): void {
    for (let time = 0; time < times; time++) {
      this.nowMs += 100;
      this.balancer.recordVerdict(this.at(index), {}, 'bad', this.nowMs);
    }
  }

  /** Records one call per character, 100 ms apart. The call fails if the character is `x`, and succeeds otherwise. */
  call(index: number, outcomes: string): void {
    for (const outcome of outcomes) {
      this.nowMs += 100;
      const hasFailed = outcome === 'x';
      this.at(index).recent.count(hasFailed, this.nowMs);
      this.balancer.recordVerdict(this.at(index), {}, hasFailed ? 'bad' : 'good', this.nowMs);
    }
  }

  /**
   * Advances the time to the end of an endpoint's ejection, and fails the probe. Throws if the balancer picks another
   * endpoint.
   */
  failProbe(index: number): void {
    this.nowMs = this.at(index).ejectedUntilMs;
    const probe = { ...GET };
    if (this.balancer.pickEndpoint(probe, this.nowMs) !== this.at(index)) throw new Error('the address is not tried');
    this.balancer.recordVerdict(this.at(index), probe, 'bad', this.nowMs);
  }

  async stop(): Promise<void> {
    for (const { pool } of this.endpoints) await pool.destroy();
  }
}
