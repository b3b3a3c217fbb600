/**
 * Load 1: the latency that the gateway adds at 10, 50 and 80 % of its capacity. Compares it with nginx + Lua at the
 * same rates. Measures plain requests, requests over TLS, and requests with a body.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BODY, startBackend } from '../backend.mjs';
import { makeCertificate } from '../certificate.mjs';
import { makePeerKeys, SCOPE } from '../keys.mjs';
import { PLAIN_REQUEST, runLoad } from '../load.mjs';
import { PEERS } from '../peers.mjs';
import { setRealTimePriority, stopProgram } from '../processes.mjs';
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
/** Time until the gateway has written its log lines, which takes at most 100 ms. */
const LOG_MS = 200;
/** Minimum duration of a round. It is longer than elsewhere, because only one of 1,000 requests determines p99.9. */
const LEAST_SECONDS = 10;
const PEER_WARM_UP_SECONDS = 3;

export const title = 'Added latency at a fixed rate';

export async function measure({ way: chosen, ...settings }) {
  const ways = waysOf(writeBodies({ '1k': POST_BYTES }), makeCertificate()).filter(
    ({ title: name }) => chosen === undefined || name.includes(chosen),
  );
  if (ways.length === 0) throw new Error(`--way: no title contains "${chosen}"`);
  const measured = [];
  for (const way of ways) measured.push(await measureWay(way, settings));
  return { ways: measured };
}

/** Returns the measured kinds of requests, with the settings of backend, gateway and peer. */
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
  const goesFirst = prioritizeServers(gateway);
  if (check) {
    await compare(gateway, way, { rate: CHECK_RATE, seconds: 1 }, true);
    await stop(gateway);
    await compare(await openPeer(way), way, { rate: CHECK_RATE, seconds: 1 }, true);
    console.error(`latency, ${name}: every response was correct and counted once`);
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
  // Stops the gateway before the peer runs, because an idle process collects garbage on the core of the measured one.
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

/** Starts the peer with a separate backend and Redis, and warms it up. The caller must pass it to `stop`. */
async function openPeer({ id: way, backend: locations, tls, request }) {
  const kind = PEERS.find(({ id }) => id === PEER);
  const backend = await startBackend(`${kind.id}-${way}`, locations);
  const started = await kind.start({ backend, keys: makePeerKeys(), tls });
  const url = started.tlsUrl ?? started.url;
  // The peer has no mode without Redis.
  const peer = { ...kind, ...started, url, backend, redisIsBack: async () => {}, timesLost: () => 0 };
  prioritizeServers(peer);
  await runLoad(peer, { seconds: PEER_WARM_UP_SECONDS, connections: 64, request });
  return peer;
}

/**
 * Gives backend and Redis a real-time priority, so that the load on the same core does not delay them.
 * @returns false if that failed
 */
function prioritizeServers({ backend, redis }) {
  return [backend.program, redis.program].every(setRealTimePriority);
}

async function stop({ program, backend, redis }) {
  redis.client.disconnect();
  for (const one of [program, backend.program, redis.program]) await stopProgram(one);
}

/**
 * Measures the backend directly, and then through the gateway. Repeats both if the gateway has continued without Redis,
 * unless `keepLost`. Rejects after five attempts.
 */
async function compare(gateway, { request, expected, tls }, load, keepLost) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { secretsFile, backend } = gateway;
    const asked = { method: request.method, bodyFile: request.bodyFile, secretsFile, expected };
    const behind = { ...asked, url: backend.url, path: request.path.slice(BASE_PATH.length), limits: false };
    const direct = await runCounted(gateway, behind, load);
    await gateway.redisIsBack();
    const target = { ...asked, url: gateway.url, path: request.path, ca: tls?.cert, limits: true };
    const lostBefore = gateway.timesLost();
    const through = await runCounted(gateway, target, load);
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
  throw new Error('latency: Redis was too slow in every attempt. Check whether other work uses the machine.');
}

/**
 * Resolves when the backend's count no longer changes, because interrupted requests of an earlier load may still
 * arrive.
 */
async function untilQuiet(backend) {
  let [before, now] = [-1, await backend.requests()];
  while (now !== before) {
    await sleep(LOG_MS);
    [before, now] = [now, await backend.requests()];
  }
}

/**
 * Runs a constant-rate load. Rejects if the backend or the month windows do not count exactly the responses. This load
 * interrupts no requests at its end.
 */
async function runCounted(gateway, target, load) {
  const read = async () => ({ backend: await gateway.backend.requests(), months: await gateway.monthTotal() });
  await untilQuiet(gateway.backend);
  const before = await read();
  const lostBefore = gateway.timesLost();
  const result = await runFixedRate(target, load);
  await sleep(LOG_MS);
  const after = await read();
  if (after.backend - before.backend !== result.requests)
    throw new Error(`latency: ${result.requests} responses, but the backend counted ${after.backend - before.backend}`);
  const expected = target.limits ? result.requests : 0;
  if (gateway.timesLost() === lostBefore && after.months - before.months !== expected)
    throw new Error(`latency: ${expected} requests, but the month windows counted ${after.months - before.months}`);
  return result;
}

/** Returns the median of a value over the rounds of a row. `value` extracts it from a round. */
const medianOver = (row, value) => median(row.rounds.map(value));

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
          medianOver(row, (round) => value(round, name)),
          3,
        );
    }
  }
  columns['load late p99'] = (row) =>
    fixed(
      medianOver(row, (round) => round.lateness.gateway.p99),
      3,
    );
  columns['found no free connection'] = (row) => whole(medianOver(row, (round) => round.waited.gateway));
  const titled = rows.map((row) => ({ ...row, title: `${row.share * 100} %` }));
  const half = rows
    .filter(({ share }) => share === AIM_SHARE)
    .map((row) => medianOver(row, (round) => kinds.added(round, 'p99')));
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
      : ['> Backend and Redis had no priority over the load on their core, which affects all figures.']),
    ...notesOf([closed, ...rows.map((row) => ({ ...row, id: `${row.name}, ${name} at ${row.rate} requests/s` }))]),
  ].join('\n\n');
}
