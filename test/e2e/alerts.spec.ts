/** The alerts of deploy/alerts.yaml fire when a component fails, and clear when it recovers. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { describeWithOwnPostgres, describeWithOwnRedis, describeWithPrometheus } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { startPrometheus, type PrometheusServer } from '../support/prometheus.js';
import { eventually, freePort, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startRedis, type RedisServer } from '../support/redis.js';

const FILE = readFileSync('deploy/alerts.yaml', 'utf8');
/** The alert rules with shorter windows, so that they fire within seconds. */
const RULES = FILE.replaceAll(/\[(?:5m|15m|1h)\]/g, '[10s]')
  .replaceAll(/for: \w+/g, 'for: 1s')
  // Keys can be 10 s stale without the message bus.
  .replace('trailgate_key_staleness_seconds > 60', 'trailgate_key_staleness_seconds > 12')
  .replaceAll(/> (?:60|300)\b/g, '> 4');
const FIRES_MS = 60_000;
const PAUSE_MS = 50;

/** Alerts that no case below triggers, with the reason. `promtool` tests their rules in test/alerts.spec.ts. */
const NOT_TRIGGERED = {
  OverheadHigh: 'needs a machine that is too slow',
  DescriptorsRunOut: 'needs most descriptors of a process; test/e2e/file-descriptors.spec.ts uses them up',
  OutOfResources: 'the same',
  MailFails: 'needs a mail server that refuses for good; see test/security/lying-mail-servers.spec.ts',
  LogLinesLost: 'needs a log without a reader; see test/e2e/log-readers.spec.ts',
  CertificateRefused: 'see test/e2e/certificate-change.spec.ts',
  CertificateEnds: 'follows from the certificate in use',
  WorkersDie: 'see test/e2e/worker-deaths.spec.ts',
  UsageUnrecorded: 'see test/e2e/usage-crash.spec.ts',
  EventsUnwritten: 'see test/e2e/emits.spec.ts',
  EventsDropped: 'the same',
  WebhooksLate: 'fires without a worker; promtool tests it',
  WebhookSecretsUnreadable: 'see test/e2e/webhook-secrets.spec.ts',
  WebhookListenerAway: 'see test/contract/webhook-listener.spec.ts',
  WebhookWakeUpsLost: 'means a fault of the gateway',
} as const;

describeWithPrometheus('with Prometheus', () => {
  describeWithOwnRedis('and Redis', () => {
    describeWithOwnPostgres('an alert', () => {
      let redis: RedisServer;
      let postgres: PostgresServer;
      let prometheus: PrometheusServer;
      let gateway: RunningTrailgate;
      let second: RunningTrailgate;
      let backend: Server;
      let options: Parameters<typeof startTrailgate>[0];
      let backendPort = 0;
      let secondPort = 0;
      let status = 200;
      let isLoaded = true;
      let areStoresAway = false;
      let load: Promise<void>;

      const openBackend = async (): Promise<void> => {
        backend = createServer((_request, response) => response.writeHead(status).end('{}'));
        backend.listen(backendPort, '127.0.0.1');
        await once(backend, 'listening');
      };
      const closeBackend = (): void => {
        backend.close();
        backend.closeAllConnections();
      };
      const startSecond = (): Promise<RunningTrailgate> =>
        startTrailgate({
          ...options,
          roles: ['gateway'],
          env: { ...options!.env, TRAILGATE_ADMIN_PORT: String(secondPort) },
        });

      beforeAll(async () => {
        [redis, postgres, backendPort, secondPort] = await Promise.all([
          startRedis(),
          startPostgres(),
          freePort(),
          freePort(),
        ]);
        await openBackend();
        options = {
          backend: `http://127.0.0.1:${backendPort}`,
          config: {
            usage: { flushInterval: '1s' },
            services: { backend: { ejection: { failures: 3, duration: '1s' } } },
          },
          env: {
            REDIS_URL: redis.url,
            DATABASE_URL: await postgres.createDatabase('alerts'),
            TRAILGATE_SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
          },
        };
        gateway = await startTrailgate(options);
        second = await startSecond();
        const { account, key } = await gateway.admin.newKey('unlimited');
        // Keys that no process has cached, so that requests need the database. The outage of the stores below uses
        // them.
        const unused = await Promise.all(
          Array.from({ length: 60 }, () => gateway.admin.createKey(account.id, { name: 'x', scopes: ['*'] })),
        );
        prometheus = await startPrometheus(
          { one: gateway.adminUrl, two: `http://127.0.0.1:${secondPort}` },
          { rules: RULES },
        );
        const call = ({ gatewayUrl }: RunningTrailgate, secret: string): Promise<unknown> => {
          const headers = { authorization: `Bearer ${secret}` };
          return send(`${gatewayUrl}/api/v1/customers`, { headers }).catch(() => undefined);
        };
        load = (async () => {
          for (let count = 0; isLoaded; count++) {
            const node = count % 2 === 0 ? gateway : second;
            await Promise.race([call(node, key.secret), sleep(500)]);
            const fresh = areStoresAway && count % 10 === 0 ? unused.pop() : undefined;
            if (fresh !== undefined) void call(second, fresh.secret);
            await sleep(PAUSE_MS);
          }
        })();
        await prometheus.scraped(3);
      }, 120_000);
      afterAll(async () => {
        isLoaded = false;
        redis?.resume();
        postgres?.resume();
        await load;
        await Promise.all([gateway?.stop(), second?.stop(), prometheus?.stop()]);
        closeBackend();
        await Promise.all([redis?.stop(), postgres?.stop()]);
      });

      const firing = async (): Promise<string[]> =>
        (await prometheus.query('ALERTS{alertstate="firing"}')).map(({ labels }) => labels['alertname'] ?? '');

      interface Breakage {
        readonly what: string;
        readonly alerts: readonly string[];
        break(): unknown;
        mend(): unknown;
      }
      const good = () => readFileSync(gateway.configPath, 'utf8');
      let config = '';
      const BREAKAGES: readonly Breakage[] = [
        {
          what: 'a configuration with a mistake',
          alerts: ['ConfigRefused'],
          break: () => {
            config = good();
            writeFileSync(gateway.configPath, `${config}\nnothing: here\n`);
          },
          mend: () => writeFileSync(gateway.configPath, config),
        },
        {
          what: 'a gateway that is gone',
          alerts: ['GatewayGone'],
          break: () => second.stop(),
          mend: async () => void (second = await startSecond()),
        },
        {
          what: 'a backend that answers 500',
          alerts: ['TargetErrors', 'ErrorShare'],
          break: () => void (status = 500),
          mend: () => void (status = 200),
        },
        {
          what: 'a backend that is down',
          alerts: ['BackendFails', 'TargetOut', 'NothingLeft', 'ErrorShare'],
          break: closeBackend,
          mend: openBackend,
        },
        {
          what: 'stores that hang',
          alerts: [
            'CountersLost',
            'RevocationsSlow',
            'RevokedKeysGoOn',
            'DatabaseAway',
            'UsageNotWritten',
            'GatewayFails',
          ],
          break: () => {
            areStoresAway = true;
            redis.pause();
            postgres.pause();
          },
          mend: () => {
            areStoresAway = false;
            redis.resume();
            postgres.resume();
          },
        },
      ];

      it('has a test case, or a reason for having none', () => {
        const { groups } = parse(FILE) as { groups: { rules: { alert: string }[] }[] };
        const all = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
        const broken = BREAKAGES.flatMap(({ alerts }) => alerts);
        expect([...new Set([...broken, ...Object.keys(NOT_TRIGGERED)])].toSorted()).toEqual(all.toSorted());
      });

      it('does not fire while all components work', async () => {
        await eventually('no alert fires', async () => (await firing()).length === 0, FIRES_MS);
      });

      it.each(BREAKAGES.map((row) => [row.what, row] as const))(
        'fires for %s, and clears after the recovery',
        async (what, { alerts, break: breaks, mend }) => {
          await breaks();
          const seen = new Set<string>();
          await eventually(
            `${what}: ${alerts.join(', ')} fire`,
            async () => {
              for (const name of await firing()) seen.add(name);
              return alerts.every((alert) => seen.has(alert));
            },
            FIRES_MS,
          ).catch((error: unknown) => {
            throw new Error(`${String(error)}; missing ${alerts.filter((alert) => !seen.has(alert)).join(', ')}`);
          });
          await mend();
          await eventually(`${what}: no alert fires any more`, async () => (await firing()).length === 0, FIRES_MS);
        },
        180_000,
      );
    });
  });
});
