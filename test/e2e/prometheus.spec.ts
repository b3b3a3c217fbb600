/** A real Prometheus answers the questions of docs/metrics.md with the queries of that page, for several processes. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { METRICS } from '../../src/platform/metrics.js';
import { startBackend, type Backend } from '../support/backend.js';
import type { Account } from '../support/admin.js';
import { describeWithOwnRedisAndPostgres, describeWithPrometheus } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { complaintsOfPromtool, startPrometheus, type PrometheusServer, type Sample } from '../support/prometheus.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { TurnedClock } from '../support/turned-clock.js';

const PAGE = readFileSync('docs/metrics.md', 'utf8');
/** Number of top accounts in metrics. */
const TOP = 2;
/** Number of processes of the second node. */
const WORKERS = 2;
/**
 * Response time of the slow backend, in milliseconds. Much longer than the overhead of the gateway, even on a busy
 * machine.
 */
const BACKEND_MS = 2_000;
/** Cost of each request to `/costly`. The backend responds with 503, and the gateway refunds the cost. */
const COST = 7;
/** Number of requests that reach no backend. Each is refunded a cost of one. */
const UNREACHED = 2;
/** Longer than the maximum staleness of a key while the bus is silent. */
const SILENT_MS = 11_000;
const NOBODY = 'http://127.0.0.1:9';

const board = JSON.parse(readFileSync('deploy/grafana/board.json', 'utf8')) as {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
};

const blocks = Array.from(PAGE.matchAll(/^```promql\n([\s\S]*?)^```/gm), ([, block = '']) => block);

/** Returns the expressions under a question in docs/metrics.md. */
function expressionsFor(question: string): string[] {
  const lines = blocks.join('').split('\n');
  const at = lines.findIndex((line) => line.startsWith(`# ${question}`));
  const end = lines.findIndex((line, index) => index > at && (line.startsWith('#') || line === ''));
  if (at === -1) throw new Error(`docs/metrics.md has no question: ${question}`);
  return lines.slice(at + 1, end);
}

describeWithPrometheus('with Prometheus', () => {
  describeWithOwnRedisAndPostgres('the queries of docs/metrics.md', () => {
    let redis: RedisServer;
    let database: FreshDatabase;
    let backend: Backend;
    let prometheus: PrometheusServer;
    /**
     * Two nodes share their stores, and the second one has several workers. The third has its own store and rarely
     * writes usage.
     */
    let one: RunningTrailgate;
    let two: RunningTrailgate;
    let alone: RunningTrailgate;
    /** Accounts that have used 90 %, 50 % and 10 % of their monthly limit. */
    let near: Account;
    let half: Account;
    let far: Account;
    const clock = new TurnedClock();

    beforeAll(async () => {
      [redis, database, backend] = await Promise.all([
        startRedis(),
        freshDatabase(),
        startBackend((request, response) => {
          const status = request.url === '/broken' ? 500 : request.url === '/costly' ? 503 : 200;
          const answer = (): unknown => response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
          if (request.url === '/customers') setTimeout(answer, BACKEND_MS);
          else answer();
        }),
      ]);
      const config = {
        services: { nobody: { targets: [NOBODY] } },
        operations: [
          { match: 'GET /broken', service: 'backend', scopes: [] },
          { match: 'GET /costly', service: 'backend', scopes: [], cost: COST },
          { match: 'GET /nobody', service: 'nobody', scopes: [] },
        ],
        plans: { small: { account: { month: 20 } }, slow: { key: { minute: 1 } } },
        usage: { flushInterval: '200ms' },
        metrics: { topAccounts: TOP },
      };
      const env = { ...clock.env, REDIS_URL: redis.url, DATABASE_URL: database.url };
      const shared = { backend: backend.url, config, env };
      // Restarts the node, because it reads the accounts nearest to their limits at its start and rarely after that.
      one = await startTrailgate(shared);
      [near, half, far] = await Promise.all([newCaller('small', 18), newCaller('small', 10), newCaller('small', 2)]);
      await one.stop();
      [one, alone] = await Promise.all([
        startTrailgate({ ...shared, dataDir: one.dataDir, adminToken: one.adminToken }),
        startTrailgate({ backend: backend.url, config: { ...config, usage: { flushInterval: '10m' } } }),
      ]);
      two = await startTrailgate({ ...shared, args: ['--workers', String(WORKERS)] });
      prometheus = await startPrometheus({ one: one.adminUrl, two: two.adminUrl, alone: alone.adminUrl });
      // Prometheus sees a first event as an increase only if it has scraped the 0 before.
      await prometheus.scraped();
      await causeEvents();
      await prometheus.scraped(2);
    });
    afterAll(async () => {
      await prometheus?.stop();
      await Promise.all([one?.stop(), two?.stop(), alone?.stop()]);
      await Promise.all([backend?.stop(), redis?.stop(), database?.drop()]);
      clock.close();
    });

    /** Account that is refused nine times. */
    let busy: Account;
    const changed = () => expressionsFor('alert: a changed configuration was refused');

    /** Causes all events that the queries ask about. */
    async function causeEvents(): Promise<void> {
      for (const query of changed().slice(0, 2)) expect(await prometheus.query(query)).toEqual([]);
      writeFileSync(alone.configPath, `${readFileSync(alone.configPath, 'utf8')}\nnothing: here\n`);
      const [{ key }, ofAlone] = [await one.admin.newKey(), await alone.admin.newKey()];
      const [minute, least] = [await one.admin.newKey('slow'), await one.admin.newKey('slow')];
      busy = minute.account;
      await Promise.all([
        ...Array.from({ length: 20 }, () => call(one, key.secret, '/customers')),
        call(one, key.secret, '/broken', 3),
        call(one, key.secret, '/nobody', UNREACHED),
        call(one, key.secret, '/costly', 3),
        call(alone, ofAlone.key.secret, '/open', 5),
        call(one, minute.key.secret, '/open', 6),
        call(two, minute.key.secret, '/open', 4),
        call(one, least.key.secret, '/open', 2),
      ]);
    }

    const call = async ({ gatewayUrl }: RunningTrailgate, secret: string, path = '/open', times = 1): Promise<void> => {
      for (let time = 0; time < times; time++) {
        await send(`${gatewayUrl}/api/v1${path}`, { headers: { authorization: `Bearer ${secret}` } });
      }
    };
    /** Creates an account and sends requests with its key. */
    async function newCaller(plan: string, times: number): Promise<Account> {
      const { account, key } = await one.admin.newKey(plan);
      await call(one, key.secret, '/open', times);
      return account;
    }
    const valueOf = (samples: readonly Sample[], labels: Readonly<Record<string, string>>): number | undefined =>
      samples.find((sample) => Object.entries(labels).every(([name, value]) => sample.labels[name] === value))?.value;
    /** Repeats a query until `isThere` accepts its result. The error has the last result. */
    async function answer(expression: string, isThere: (samples: readonly Sample[]) => boolean): Promise<Sample[]> {
      let samples: Sample[] = [];
      await eventually(expression, async () => {
        samples = await prometheus.query(expression);
        return isThere(samples);
      }).catch((error: unknown) => {
        throw new Error(`Prometheus returned ${JSON.stringify(samples)}`, { cause: error });
      });
      return samples;
    }

    it('are all valid expressions for Prometheus', async () => {
      const lines = blocks.flatMap((block) => block.split('\n').filter((line) => line !== '' && !line.startsWith('#')));
      expect(lines.length).toBeGreaterThan(40);
      for (const line of lines) await expect(prometheus.query(line)).resolves.toBeDefined();
    });

    it('have a Grafana dashboard, each panel of which shows data', async () => {
      const panels = board.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
      expect(panels.length).toBeGreaterThan(30);
      const empty: string[] = [];
      for (const { title, expr } of panels) {
        const samples = await prometheus.query(expr.replaceAll('$__rate_interval', '1m').replaceAll('$job', '.+'));
        if (samples.length === 0) empty.push(`${title}: ${expr}`);
      }
      expect(empty).toEqual([]);
    });

    it('show the overhead of the gateway as p50 and p99', async () => {
      const [p50 = '', p99 = ''] = expressionsFor('what the gateway itself adds');
      const [median, most] = [
        (await prometheus.query(p50))[0]?.value ?? NaN,
        (await prometheus.query(p99))[0]?.value ?? NaN,
      ];
      expect(median).toBeGreaterThan(0);
      expect(most).toBeGreaterThanOrEqual(median);
      // The overhead does not include the time of the backend.
      const mean = ['sum', 'count'].map(
        (part) => `http_server_request_duration_seconds_${part}{http_route="/customers"}`,
      );
      expect((await prometheus.query(mean.join(' / ')))[0]?.value).toBeGreaterThan(BACKEND_MS / 1_000 - 0.01);
      expect(median).toBeLessThan(BACKEND_MS / 1_000);
    });

    it('show how long the backends of each service take', async () => {
      const [p99 = ''] = expressionsFor('how long the backends of each service take');
      const samples = await prometheus.query(p99);
      expect(valueOf(samples, { service: 'backend' })).toBeGreaterThan(BACKEND_MS / 1_000 / 2);
    });

    it('show which target fails and with which status', async () => {
      const [expression = ''] = expressionsFor('which target fails');
      const samples = await answer(expression, (now) => valueOf(now, { service: 'nobody' }) !== undefined);
      const failed = samples.map(
        ({ labels: { service, target, outcome, status } }) => `${service} ${target} ${outcome} ${status ?? ''}`,
      );
      expect(failed).toEqual(
        expect.arrayContaining([`backend ${backend.url} answered 500`, `nobody ${NOBODY} unreachable `]),
      );
    });

    it('show the refunded cost, not the number of refunded requests', async () => {
      const [expression = ''] = expressionsFor('cost that was refunded');
      // Counts failed refunds, too, because Redis may be too slow for a refund on a busy machine.
      const { text } = await send(`${one.adminUrl}/metrics`);
      const [done = 0, failed = 0] = ['done', 'failed'].map((outcome) =>
        Number(text.split(`\ntrailgate_quota_refunded_cost_total{outcome="${outcome}"} `)[1]?.split('\n')[0]),
      );
      expect(done + failed).toBe(3 * COST + UNREACHED);
      // Prometheus extrapolates beyond its first and last sample.
      const samples = await answer(expression, (now) => (valueOf(now, { outcome: 'done' }) ?? 0) >= done - 1);
      expect(valueOf(samples, { outcome: 'done' })).toBeLessThanOrEqual(done * 2);
      expect(valueOf(samples, { outcome: 'failed' })).toBeLessThanOrEqual(failed * 2);
    });

    it('show the length of the usage queue to the database', async () => {
      const [expression = ''] = expressionsFor('length of the queue of usage');
      const before = `trailgate_usage_queue_length{instance="alone"}`;
      await answer(before, ([sample]) => (sample?.value ?? 0) >= 2);
      // The other nodes have written all usage.
      await answer('sum(trailgate_usage_queue_length{instance!="alone"})', ([sample]) => sample?.value === 0);
      const [all] = await prometheus.query(expression);
      expect(all?.value).toBe((await prometheus.query(before))[0]?.value);
    });

    it('show the first refused configuration as an increase', async () => {
      const [inForce = '', increase = ''] = changed();
      const [sample] = await answer(increase, ({ length }) => length > 0);
      expect(sample?.labels).toMatchObject({ instance: 'alone', result: 'refused' });
      expect(await prometheus.query(inForce)).toMatchObject([{ labels: { instance: 'alone' } }]);
    });

    it('show the accounts nearest to their monthly limit, counted once across two nodes', async () => {
      const [share = '', used = '', limit = ''] = expressionsFor('which accounts are nearest to their month');
      const shares = await answer(
        share,
        (samples) =>
          samples.length === TOP &&
          valueOf(samples, { account_id: near.id }) === 0.9 &&
          valueOf(samples, { account_id: half.id }) === 0.5,
      );
      expect(shares.map(({ labels, value }) => [labels['account_id'], labels['plan'], value])).toEqual([
        [near.id, 'small', 0.9],
        [half.id, 'small', 0.5],
      ]);
      await answer(used, (samples) => valueOf(samples, { account_id: 'other' }) === 2);
      const [usedNow, limitNow] = [await prometheus.query(used), await prometheus.query(limit)];
      expect(usedNow).toHaveLength(TOP + 1);
      expect(valueOf(usedNow, { account_id: near.id })).toBe(18);
      expect(valueOf(limitNow, { account_id: near.id })).toBe(20);
      expect(valueOf(limitNow, { account_id: 'other' })).toBe(20);
      const [others = ''] = expressionsFor('what all others have used together');
      expect(await prometheus.query(others)).toEqual([{ labels: {}, value: 2 }]);
      expect(JSON.stringify(usedNow)).not.toContain(far.id);
      // Both nodes report the account, but the query counts it once.
      const both = `count(trailgate_quota_top_account_used{account_id="${near.id}"})`;
      await answer(both, (samples) => samples[0]?.value === 2);

      const forecasts = await prometheus.query('max by (account_id) (trailgate_quota_top_account_forecast)');
      const forecast = valueOf(forecasts, { account_id: near.id }) ?? 0;
      expect(forecast).toBeGreaterThanOrEqual(18);
      expect(forecast).toBeLessThanOrEqual(18 * 31);
      const [over = ''] = expressionsFor('which of them will exceed it');
      expect(valueOf(await prometheus.query(over), { account_id: near.id }) !== undefined).toBe(forecast > 20);
    });

    it('show the accounts refused most and by which policy, over all processes of all nodes', async () => {
      // Creates the account only now. It would otherwise be the account nearest to its limit.
      const spent = await newCaller('small', 23);
      const [expression = ''] = expressionsFor('who is refused most');
      // Waits for both values, because the processes are scraped at different times.
      const samples = await answer(
        expression,
        (now) => valueOf(now, { account_id: busy.id }) === 9 && valueOf(now, { account_id: spent.id }) === 3,
      );
      expect(samples.map(({ labels, value }) => [labels['account_id'], labels['policy'], value])).toEqual([
        [busy.id, 'key-minute', 9],
        [spent.id, 'account-month', 3],
      ]);
      const others = 'sum(trailgate_quota_top_account_refusals{account_id="other"})';
      await answer(others, ([sample]) => sample?.value === 1);
    });

    it('find account IDs only in metrics with that label, for a limited number of accounts', async () => {
      const counts = await prometheus.query('count by (__name__, instance) ({account_id!=""})');
      const allowed = Object.values(METRICS).filter(({ labelNames }) => labelNames.includes('account_id'));
      expect(counts.length).toBeGreaterThan(0);
      for (const { labels, value } of counts) {
        expect(allowed.map(({ name }) => name)).toContain(labels['__name__']);
        const isRefusals = labels['__name__'] === METRICS.topAccountRefusals.name;
        // Each worker of a node has its own top accounts.
        const most = labels['instance'] === 'two' ? WORKERS * TOP + 1 : TOP + 1;
        expect(value).toBeLessThanOrEqual(isRefusals ? most * 4 : TOP + 1);
      }
      const all = await prometheus.query('count by (instance) ({__name__=~".+"})');
      expect(all).toHaveLength(3);
      for (const { value } of all) expect(value).toBeLessThan(1_500);
    });

    it('use metrics in which promtool finds no problem', async () => {
      for (const { adminUrl } of [one, two, alone]) {
        expect(complaintsOfPromtool((await send(`${adminUrl}/metrics`)).text)).toBe('');
      }
    });

    it('show how stale keys may be, and since when limits are degraded, while Redis hangs', async () => {
      const [staleness = ''] = expressionsFor('how old a revoked key may be');
      await answer(staleness, ([sample]) => (sample?.value ?? NaN) <= 3);
      const [since = '', seconds = ''] = expressionsFor('since when limits are degraded');
      expect(await prometheus.query(since)).toEqual([]);
      const { key } = await one.admin.newKey('small');
      await call(one, key.secret);
      const beganMs = Date.now();
      redis.pause();
      await call(one, key.secret, '/open', 3);
      const [lost] = await answer(since, ({ length }) => length > 0);
      expect((lost?.value ?? 0) * 1_000).toBeGreaterThanOrEqual(beganMs - 1_000);
      expect((lost?.value ?? 0) * 1_000).toBeLessThanOrEqual(Date.now());
      expect((await prometheus.query(seconds))[0]?.value).toBeLessThanOrEqual((Date.now() - beganMs) / 1_000 + 2);
      clock.runAhead(SILENT_MS);
      // Until each process knows that the bus is down, the whole silence counts, including the jump of the clock.
      await answer(staleness, ([{ value = 0 } = { value: 0 }]) => value >= 9.5 && value <= 10);
      redis.resume();
      await answer(`absent(${since})`, ({ length }) => length > 0);
      // Moves the clock far enough that all earlier reads have been repeated.
      clock.runAhead(2 * SILENT_MS);
      await answer(staleness, ([sample]) => (sample?.value ?? NaN) <= 3);
    });
  });
});
