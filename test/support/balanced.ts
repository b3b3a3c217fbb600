/** A balancer over addresses of a service; time is in the test's hand. */
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

/** Out after three failures, or where a quarter of 20 calls fails, for 10 s, at most 25. */
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

export class Balanced {
  endpoints: Endpoint[] = [];
  balancer = new Balancer(undefined, () => {});
  /** `t0 ejected`, in their order. */
  changes: string[] = [];
  nowMs = 1_000_000;

  /** Makes so many addresses, `t0` and on. */
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

  /** Calls to an address fail, one after the other. */
  fail(index: number, times: number): void {
    for (let time = 0; time < times; time++) {
      this.nowMs += 100;
      this.balancer.recordVerdict(this.at(index), {}, 'bad', this.nowMs);
    }
  }

  /** Calls to an address go one after the other, as told: `x` fails, anything else goes well. */
  call(index: number, outcomes: string): void {
    for (const outcome of outcomes) {
      this.nowMs += 100;
      const hasFailed = outcome === 'x';
      this.at(index).recent.count(hasFailed, this.nowMs);
      this.balancer.recordVerdict(this.at(index), {}, hasFailed ? 'bad' : 'good', this.nowMs);
    }
  }

  /** Lets a call through to an address whose rest is over, in vain. */
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
