/**
 * Load 1: what the gateway adds to the latency of a request at 10, 50 and 80 % of what it can take, and what nginx + Lua by hand adds at
 * the same rates: plain, over TLS, and with a body to send.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BODY, startBackend } from '../backend.mjs';
import { makeCertificate } from '../certificate.mjs';
import { makePeerKeys, SCOPE } from '../keys.mjs';
import { PLAIN_REQUEST, runLoad } from '../load.mjs';
import { PEERS } from '../peers.mjs';
import { goFirst, stopProgram } from '../processes.mjs';
import { median } from '../report.mjs';
import { backendOf, received, writeBodies } from './bodies.mjs';
import { runFixedRate } from './fixed-rate.mjs';
import { aimLine, fixed, notesOf, tableOf, whole } from './report.mjs';
import { measureRows } from './rounds.mjs';
import { openScene } from './scene.mjs';

const PEER = 'nginx-lua';
const SHARES = [0.1, 0.5, 0.8];
const QUANTILES = ['p50', 'p99', 'p999'];
const CHECK_RATE = 500;
const POST_BYTES = 1_024;
const BASE_PATH = '/api/v1';
const AIM_SHARE = 0.5;
const AIM_MS = 1;
const ATTEMPTS = 5;
/** The gateway writes its log within 100 ms. */
const LOG_MS = 200;
/** Rounds are longer than elsewhere: of 1,000 requests only one tells p99.9. */
const LEAST_SECONDS = 10;
const PEER_WARM_UP_SECONDS = 3;

export const title = 'Added latency at a fixed rate';

export async function measure({ way: chosen, ...settings }) {
  const ways = waysOf(writeBodies({ '1k': POST_BYTES }), makeCertificate()).filter(
    ({ title: name }) => chosen === undefined || name.includes(chosen),
  );
  if (ways.length === 0) throw new Error(`--way: no way has ${chosen} in its title`);
  const measured = [];
  for (const way of ways) measured.push(await measureWay(way, settings));
  return { ways: measured };
}

/** What is sent, and what the backend, the gateway and the peer have in common. */
function waysOf(folder, tls) {
  const backend = backendOf(folder);
  const post = { method: 'POST', bodyFile: path.join(folder, '1k'), ...received(POST_BYTES) };
  return [
    { title: '`GET`, plain', id: 'plain', backend, request: PLAIN_REQUEST, expected: BODY },
    { title: '`GET` over TLS', id: 'tls', backend, tls, request: PLAIN_REQUEST, expected: BODY },
    {
      title: '`POST` of 1 KB',
      id: 'post',
      backend,
      request: { path: '/api/v1/bodies', ...post },
      expected: post.contains,
    },
  ];
}

async function measureWay(way, { rounds, seconds, check, quick }) {
  const { id, title: name, backend, tls, request } = way;
  const operations = [{ match: 'POST /bodies', service: 'customers', scopes: [SCOPE] }];
  const gateway = await openScene({ name: `latency-${id}`, operations, backend, gateway: tls && { tls } });
  const goesFirst = letGoFirst(gateway);
  if (check) {
    await compare(gateway, way, { rate: CHECK_RATE, seconds: 1 }, true);
    await stop(gateway);
    await compare(await openPeer(way), way, { rate: CHECK_RATE, seconds: 1 }, true);
    console.error(`latency, ${name}: every answer was right, and counted once`);
    return { title: name, rows: [] };
  }
  const row = { id: `capacity, ${name}`, title: 'capacity', gateway, request };
  const [closed] = await measureRows([row], { rounds, seconds, check, quick });
  const capacity = closed.medians.requestsPerSecond;
  const loads = SHARES.map((share) => ({
    share,
    rate: Math.round(share * capacity),
    seconds: quick ? seconds : Math.max(seconds, LEAST_SECONDS),
  }));
  const own = await measureLoads('Trailgate', gateway, way, loads, { rounds, quick });
  // Not side by side: a process that is idle tidies up, on the core of the one that is measured.
  await stop(gateway);
  const peer = await openPeer(way);
  const others = await measureLoads('nginx + Lua', peer, way, loads, { rounds, quick });
  await stop(peer);
  return { title: name, closed, capacity, rows: own.flatMap((one, index) => [one, others[index]]), goesFirst };
}

async function measureLoads(name, gateway, way, loads, { rounds, quick }) {
  const rows = loads.map((load) => ({ ...load, name, rounds: [] }));
  for (let round = 0; round < rounds; round++) {
    for (const row of rows) {
      const compared = await compare(gateway, way, row, quick);
      row.rounds.push(compared);
      console.error(
        `${name} at ${row.rate}/s: p99 ${fixed(compared.direct.p99, 3)} → ${fixed(compared.gateway.p99, 3)} ms`,
      );
    }
  }
  return rows;
}

/** The peer that does the same job, with a backend and a Redis of its own. */
async function openPeer({ id: way, backend: locations, tls, request }) {
  const kind = PEERS.find(({ id }) => id === PEER);
  const backend = await startBackend(`${kind.id}-${way}`, locations);
  const started = await kind.start({ backend, keys: makePeerKeys(), tls });
  const url = started.tlsUrl ?? started.url;
  // It never goes on without Redis.
  const peer = { ...kind, ...started, url, backend, redisIsBack: async () => {}, timesLost: () => 0 };
  letGoFirst(peer);
  await runLoad(peer, { seconds: PEER_WARM_UP_SECONDS, connections: 64, request });
  return peer;
}

/** What stands behind the gateway goes before the load that shares their core: it would otherwise make them wait, and be charged for it. */
function letGoFirst({ backend, redis }) {
  return [backend.program, redis.program].every(goFirst);
}

async function stop({ program, backend, redis }) {
  redis.client.disconnect();
  for (const one of [program, backend.program, redis.program]) await stopProgram(one);
}

/** The backend by itself, then through the gateway; done again where that went on without Redis meanwhile, unless `keepLost`. */
async function compare(gateway, { request, expected, tls }, load, keepLost) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { secretsFile, backend } = gateway;
    const asked = { method: request.method, bodyFile: request.bodyFile, secretsFile, expected };
    const behind = { ...asked, url: backend.url, path: request.path.slice(BASE_PATH.length), limits: false };
    const direct = await counted(gateway, behind, load);
    await gateway.redisIsBack();
    const target = { ...asked, url: gateway.url, path: request.path, ca: tls?.cert, limits: true };
    const lostBefore = gateway.timesLost();
    const through = await counted(gateway, target, load);
    const lostRedis = gateway.timesLost() - lostBefore;
    if (lostRedis > 0 && !keepLost) continue;
    return {
      lostRedis,
      direct: direct.latency,
      gateway: through.latency,
      lateness: { direct: direct.lateness, gateway: through.lateness },
      waited: { direct: direct.waited, gateway: through.waited },
      requests: through.told,
    };
  }
  throw new Error('latency: Redis was too slow every time; is the machine busy with something else?');
}

/** What an earlier load cut off at its end may still be on its way. */
async function untilQuiet(backend) {
  let [before, now] = [-1, await backend.requests()];
  while (now !== before) {
    await sleep(LOG_MS);
    [before, now] = [now, await backend.requests()];
  }
}

/** Nothing is cut off at the end of this load: the backend and the month windows must have counted exactly what was answered. */
async function counted(gateway, target, load) {
  const read = async () => ({ backend: await gateway.backend.requests(), months: await gateway.monthTotal() });
  await untilQuiet(gateway.backend);
  const before = await read();
  const lostBefore = gateway.timesLost();
  const result = await runFixedRate(target, load);
  await sleep(LOG_MS);
  const after = await read();
  if (after.backend - before.backend !== result.requests)
    throw new Error(`latency: ${result.requests} answers, but the backend counted ${after.backend - before.backend}`);
  const expected = target.limits ? result.requests : 0;
  if (gateway.timesLost() === lostBefore && after.months - before.months !== expected)
    throw new Error(`latency: ${expected} requests, but the month windows counted ${after.months - before.months}`);
  return result;
}

/** Median over the rounds of what `value` takes from each. */
const over = (row, value) => median(row.rounds.map(value));

export function table({ ways }) {
  return ways.map((way) => `#### ${way.title}\n\n${tableOfWay(way)}`).join('\n\n');
}

function tableOfWay({ title: name, capacity, rows, closed, goesFirst }) {
  const columns = { gateway: (row) => row.name, 'requests/s': (row) => whole(row.rate) };
  const kinds = {
    backend: (round, name) => round.direct[name],
    gateway: (round, name) => round.gateway[name],
    added: (round, name) => round.gateway[name] - round.direct[name],
  };
  for (const [kind, value] of Object.entries(kinds)) {
    for (const name of QUANTILES) {
      const column = `${kind} ${name.replace('999', '99.9')}`;
      columns[column] = (row) =>
        fixed(
          over(row, (round) => value(round, name)),
          3,
        );
    }
  }
  columns['load late p99'] = (row) =>
    fixed(
      over(row, (round) => round.lateness.gateway.p99),
      3,
    );
  columns['found no free connection'] = (row) => whole(over(row, (round) => round.waited.gateway));
  const titled = rows.map((row) => ({ ...row, title: `${row.share * 100} %` }));
  const half = rows
    .filter(({ share }) => share === AIM_SHARE)
    .map((row) => over(row, (round) => kinds.added(round, 'p99')));
  return [
    `Capacity, by Trailgate's closed loop of 64 connections: ${whole(capacity)} requests a second. Milliseconds, medians of the rounds.`,
    tableOf('of capacity', titled, columns),
    aimLine(
      `under ${AIM_MS} ms added at p99 at half load`,
      `${fixed(half[0], 2)} ms (nginx + Lua at the same rate: ${fixed(half[1], 2)} ms)`,
      half[0] < AIM_MS,
    ),
    ...(goesFirst
      ? []
      : ['> Backend and Redis had to share their core with the load as equals: that is in all figures.']),
    ...notesOf([closed, ...rows.map((row) => ({ ...row, id: `${row.name}, ${name} at ${row.rate} requests/s` }))]),
  ].join('\n\n');
}
