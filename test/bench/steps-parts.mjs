/**
 * Assembles the gateway's modules for the benchmark of its steps, as the program does: configuration, database, and an
 * account with a key. Counters are in the process. For the steps with Redis, a stub responds at once.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { temporaryFolder } from './processes.mjs';

const dist = (file) => import(path.resolve(import.meta.dirname, '../../dist', file));

const { systemClock } = await dist('platform/clock.js');
const { readEnvironment } = await dist('config/model/environment.js');
const { loadConfig } = await dist('config/load.js');
const { RunningConfig } = await dist('config/running-config.js');
const { openLog } = await dist('platform/log.js');
const { clockAheadMs, recordTime } = await dist('idempotency/database-records.js');
const { openStores } = await dist('program/open-stores.js');
const { openModules } = await dist('program/modules.js');
const { Breaker } = await dist('platform/breaker.js');
const { MonthLedger } = await dist('quota/usage/month-ledger.js');
const { Degradation } = await dist('quota/degradation.js');
const { LimiterSink } = await dist('quota/limiter-sink.js');
const { Limiter } = await dist('quota/limiter.js');
const { Recovery } = await dist('quota/recovery.js');
const { RedisCounters } = await dist('quota/redis/redis-counters.js');
const { ShadowLimits } = await dist('quota/shadow-limits.js');
const { Shutdown } = await dist('platform/shutdown.js');
const { PromiseReceiver } = await dist('platform/callbacks.js');

const CONTEXT = { actor: 'operator', ip: '127.0.0.1', requestId: 'req_benchmark' };
/** Limits that are never reached. */
const LIMITS = { minute: 1_000_000_000, month: 1_000_000_000_000 };

const FILE = JSON.stringify({
  gateway: { host: '127.0.0.1', port: 0 },
  admin: { host: '127.0.0.1', port: 0 },
  api: { basePath: '/api/v1', title: 'Benchmark' },
  services: { customers: { targets: ['http://127.0.0.1:9'] } },
  operations: [
    { match: 'GET /customers', service: 'customers', scopes: ['customers:read'] },
    { match: 'GET /customers/{id}', service: 'customers', scopes: ['customers:read'] },
    { match: 'POST /customers', service: 'customers', scopes: [], emits: 'customer.created', emitsResource: '/id' },
  ],
  events: ['customer.created'],
  plans: { bench: { key: LIMITS, account: LIMITS } },
}); // JSON is YAML

/**
 * Opens the gateway's modules. The caller must call `stop` of the result.
 * @param logFile file descriptor of the log
 */
export async function openGateway(logFile) {
  const folder = temporaryFolder();
  const file = path.join(folder, 'gateway.yaml');
  writeFileSync(file, FILE);
  const environment = readEnvironment({ TRAILGATE_DATA_DIR: path.join(folder, 'data') });
  const { config, problems } = await loadConfig(file, environment, {});
  if (config === undefined) throw new Error(JSON.stringify(problems));
  const log = openLog('info', logFile);
  const shutdown = new Shutdown(log);
  const counterLocation = { url: undefined, isCountingProcess: true };
  const roles = ['gateway'];
  const stores = await openStores(config, roles, counterLocation, true, log, shutdown);
  const ahead = clockAheadMs(systemClock);
  const time = { clockAheadMs: ahead, recordTime: recordTime(stores.database.kind, ahead) };
  const shared = { config: new RunningConfig(config), ...stores, clock: systemClock, log, gauges: [], shutdown };
  const modules = await openModules(shared, { roles, forwards: true, isFirst: true, counterLocation, ...time });
  const [endpoint] = modules.forwarder.upstreams.get('customers').targets[0].endpoints;
  return { config, log, modules, endpoint, stop: () => shutdown.run() };
}

/** Creates a key of a new account. `known` is the cached key of the request path. */
export async function makeKey({ accounts, keyStore, keys }) {
  const input = { name: 'Benchmark', plan: 'bench', time_zone: 'Europe/Vienna', billing_day: 1 };
  const { id } = await accounts.create(input, CONTEXT);
  const wanted = { name: 'bench', scopes: ['customers:read'], environment: 'live', expires_at: null, allowed_ips: [] };
  const { secret } = await keyStore.create(id, { ...wanted, limits: null }, CONTEXT);
  return { secret, known: await keys.authenticator.authenticate(secret, '127.0.0.1') };
}

/**
 * Runs a step once, so that its caches contain current results from the database. They expire after a minute or more,
 * and on a slow machine the previous steps can take longer.
 */
export async function refreshCaches(step, exchange) {
  const promised = new PromiseReceiver();
  if (step.check(exchange, promised) === undefined) await promised.promise;
}

/** Returns a limiter with counters in Redis, where a stub replaces the network. All requests are admitted. */
export function redisQuotas({ database }, { logger }) {
  const ledger = new MonthLedger(database.db, systemClock);
  const unused = undefined;
  const degradation = new Degradation(new Breaker(systemClock), unused, systemClock, logger);
  const shadows = new ShadowLimits(systemClock, true);
  const sink = new LimiterSink(ledger, shadows, systemClock, degradation);
  const counters = new RedisCounters(answeringClient(), systemClock, ledger, sink);
  const recovery = new Recovery(counters, degradation, ledger, unused);
  return new Limiter(counters, shadows, ledger, unused, systemClock, logger, { degradation, recovery });
}

/**
 * Returns a Redis client that responds like `DECIDE_LUA`, in a microtask. The response is the time, and the previous
 * counts of each group.
 */
function answeringClient() {
  const nowMs = systemClock.now();
  const second = Math.floor(nowMs / 1_000);
  const counts = ` 64 5120 512 512000 51200 500000 50000 ${second - 30} ${second - 20} 0 0`;
  const answers = new Map();
  return {
    isCluster: false,
    sendCommand(command) {
      // Serializes the command, as ioredis does before it writes to its socket.
      command.toWritable();
      const { keyCount } = command.call;
      let answer = answers.get(keyCount);
      if (answer === undefined) {
        answer = Buffer.from(nowMs + counts.repeat((keyCount - 1) / 2));
        answers.set(keyCount, answer);
      }
      queueMicrotask(() => command.resolve(answer));
    },
  };
}

/**
 * Sends two requests of a typical client through a real Node server.
 * @returns {message, response, finished, close}: `message` and `response` belong to an open request, `finished` is the
 *   response of one that has ended. The caller must call `close`.
 */
export async function receiveRequests(secret) {
  const received = [];
  const server = createServer((message, response) => received.push({ message, response })).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = [];
  for (let sent = 0; sent < 2; sent++) {
    const socket = connect(server.address().port, '127.0.0.1');
    sockets.push(socket);
    socket.resume();
    const arrived = once(server, 'request');
    socket.write(
      'GET /api/v1/customers?limit=8 HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: example-sdk/1.4.2\r\nAccept: application/json\r\n' +
        `Accept-Encoding: gzip, br\r\nConnection: keep-alive\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
    );
    await arrived;
  }
  const [open, answered] = received;
  answered.response.end('{}');
  await once(answered.response, 'close');
  return {
    ...open,
    finished: answered.response,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
