/** A real Prometheus scrapes native histograms, and finds the trace of a slow request by its exemplar. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnRedisAndPostgres, describeWithPrometheus } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { startPrometheus, type PrometheusServer } from '../support/prometheus.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { startTraceCollector, type TraceCollector } from '../support/trace-collector.js';

const SLOW_MS = 400;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLS = 6;

interface Exemplars {
  readonly data: readonly {
    readonly seriesLabels: Readonly<Record<string, string>>;
    readonly exemplars: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: string }[];
  }[];
}

describeWithPrometheus('with Prometheus', () => {
  describeWithOwnRedisAndPostgres('the metrics of a process and of a node with two workers', () => {
    let redis: RedisServer;
    let database: FreshDatabase;
    let backend: Backend;
    let collector: TraceCollector;
    let one: RunningTrailgate;
    let workers: RunningTrailgate;
    /** Two Prometheus servers. One scrapes native histograms, and the other OpenMetrics. */
    let native: PrometheusServer;
    let classic: PrometheusServer;

    beforeAll(async () => {
      [redis, database, collector, backend] = await Promise.all([
        startRedis(),
        freshDatabase(),
        startTraceCollector(),
        startBackend((request, response) => {
          const answer = (): unknown => response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
          if (request.url === '/customers') setTimeout(answer, SLOW_MS);
          else answer();
        }),
      ]);
      const tracing = { endpoint: collector.url, share: 0, followCallers: true };
      const options = {
        backend: backend.url,
        config: { tracing },
        env: { REDIS_URL: redis.url, DATABASE_URL: database.url },
      };
      one = await startTrailgate(options);
      workers = await startTrailgate({ ...options, args: ['--workers', '2'] });
      const { key } = await one.admin.newKey('unlimited');
      const call = async (gateway: RunningTrailgate, path: string, flags: string) =>
        send(`${gateway.gatewayUrl}/api/v1${path}`, {
          headers: { authorization: `Bearer ${key.secret}`, traceparent: `00-${TRACE}-00f067aa0ba902b7-${flags}` },
        });
      for (const gateway of [one, workers]) {
        await Promise.all(Array.from({ length: CALLS }, () => call(gateway, '/open', '00')));
        await call(gateway, '/customers', '01');
      }
      const origins = { one: one.adminUrl, workers: workers.adminUrl };
      const features = ['exemplar-storage'];
      native = await startPrometheus(origins, { features: [...features, 'native-histograms'] });
      classic = await startPrometheus(origins, { features });
      await Promise.all([native.scraped(2), classic.scraped(2)]);
    });
    afterAll(async () => {
      await Promise.all([native?.stop(), classic?.stop()]);
      await Promise.all([one?.stop(), workers?.stop()]);
      await Promise.all([backend?.stop(), collector?.stop(), redis?.stop(), database?.drop()]);
    });

    const exemplarsOf = async ({ url }: PrometheusServer) => {
      const query = new URLSearchParams({
        query: 'http_server_request_duration_seconds_bucket or http_server_request_duration_seconds',
        start: String(Date.now() / 1_000 - 600),
        end: String(Date.now() / 1_000 + 60),
      });
      return ((await (await fetch(`${url}/api/v1/query_exemplars?${query}`)).json()) as Exemplars).data;
    };
    const valueByInstance = async ({ query }: PrometheusServer, expression: string) =>
      Object.fromEntries((await query(expression)).map(({ labels, value }) => [labels['instance'], value]));

    it('count each request once in native histograms, with the slow duration within one bucket', async () => {
      const ofRoute = (route: string) => `http_server_request_duration_seconds{http_route="${route}"}`;
      const count = (route: string) => valueByInstance(native, `histogram_count(${ofRoute(route)})`);
      expect(await count('/open')).toEqual({ one: CALLS, workers: CALLS });
      expect(await count('/customers')).toEqual({ one: 1, workers: 1 });
      const sums = await valueByInstance(native, `histogram_sum(${ofRoute('/customers')})`);
      const medians = await valueByInstance(native, `histogram_quantile(0.5, ${ofRoute('/customers')})`);
      for (const instance of ['one', 'workers']) {
        expect(sums[instance]).toBeGreaterThan(SLOW_MS / 1_000);
        // A bucket is 9 % wide.
        expect(Math.abs(medians[instance]! / sums[instance]! - 1)).toBeLessThan(0.1);
      }
    });

    it('are the same in the native format and in OpenMetrics, except for histograms', async () => {
      const names = async (server: PrometheusServer) =>
        new Set(
          (await server.query('group by (__name__) ({instance="workers"})')).map(({ labels }) => labels['__name__']),
        );
      const [ofNative, ofClassic] = [await names(native), await names(classic)];
      expect(ofClassic.size).toBeGreaterThan(100);
      const isHistogram = (name: string | undefined) => /_(?:bucket|sum|count)$/.test(name ?? '');
      expect([...ofClassic].filter((name) => !ofNative.has(name) && !isHistogram(name))).toEqual([]);
    });

    it.each([
      ['native histograms', () => native],
      ['OpenMetrics', () => classic],
    ])('have an exemplar for the exported trace of the slow request only, with %s', async (_format, server) => {
      const exemplars = await exemplarsOf(server());
      expect(
        exemplars.map(({ seriesLabels }) => [seriesLabels['instance'], seriesLabels['http_route']]).toSorted(),
      ).toEqual([
        ['one', '/customers'],
        ['workers', '/customers'],
      ]);
      for (const { labels, value } of exemplars.flatMap((series) => series.exemplars)) {
        expect(labels).toEqual({ trace_id: TRACE });
        expect(Number(value)).toBeGreaterThan(SLOW_MS / 1_000);
      }
    });
  });
});
