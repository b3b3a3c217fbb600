/** Load 7: millions of requests of several kinds to one process, to check that its memory does not grow. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { residentMegabytes } from '../accounting.mjs';
import { newSecret, SCOPE, writeSecrets } from '../keys.mjs';
import { PLAIN_REQUEST } from '../load.mjs';
import { measureInterval } from '../measure.mjs';
import { temporaryFolder, truncateLog } from '../processes.mjs';
import { aimLine, fixed, tableOf, whole } from './report.mjs';
import { INSPECTED, openHeap } from './heap.mjs';
import { openScene } from './scene.mjs';

const CYCLE_SECONDS = 30;
const CHECK_SECONDS = 8;
const CONNECTIONS = 64;
/** Number of new unknown keys per cycle. The gateway caches unknown keys, and that cache must be bounded. */
const UNKNOWN_KEYS = 20_000;
/** Share of the run after which memory is assessed. Before that, caches fill and code is compiled. */
const SETTLED_AFTER = 1 / 3;
/** Maximum growth of the memory during the assessed part, as a share of the memory at the end. */
const FLAT_HEAP = 0.02;
const FLAT_RESIDENT = 0.05;

export const title = 'Memory after millions of requests';

export async function measure({ minutes, check }) {
  const operation = (match) => ({ match, service: 'customers', scopes: [SCOPE] });
  const gateway = await openScene({
    name: 'soak',
    operations: [operation('POST /customers')],
    gateway: { failedAuthentication: { perMinute: 0 } },
    nodeArgs: INSPECTED,
  });
  const readHeap = await openHeap(gateway.program);
  const startedMs = performance.now();
  const samples = [];
  const total = { requests: 0, lostRedis: 0 };
  const cycles = check ? 1 : minutes * (60 / CYCLE_SECONDS);
  for (let cycle = 0; cycle < cycles; cycle++) {
    await runCycle(gateway, total, check ? CHECK_SECONDS : CYCLE_SECONDS);
    const held = { ...(await readHeap()), resident: residentMegabytes(gateway.program.pid) };
    const sample = { seconds: (performance.now() - startedMs) / 1_000, requests: total.requests, ...held };
    samples.push(sample);
    console.error(lineOf(sample));
  }
  return { samples, lostRedis: total.lostRedis };
}

function lineOf({ seconds, requests, heap, buffers, resident }) {
  const held = `heap ${fixed(heap)} MB, buffers ${fixed(buffers)} MB, resident ${fixed(resident, 0)} MB`;
  return `soak: ${whole(seconds)} s, ${whole(requests)} requests: ${held}`;
}

/**
 * Runs one cycle: two thirds plain requests, then requests with a body, with unknown keys and with unknown paths.
 * Rejects if responses were wrong, or were not counted correctly.
 */
async function runCycle(gateway, total, cycleSeconds) {
  const share = (part) => Math.max(1, Math.round(cycleSeconds * part));
  const unknown = writeSecrets('soak-unknown-keys.txt', Array.from({ length: UNKNOWN_KEYS }, newSecret));
  const bodyFile = path.join(temporaryFolder(), 'soak-body.json');
  writeFileSync(bodyFile, JSON.stringify({ name: 'Guest', note: 'x'.repeat(1_000) }));
  for (const [seconds, request] of [
    [share(0.66), PLAIN_REQUEST],
    [share(0.14), { ...PLAIN_REQUEST, method: 'POST', bodyFile }],
    [share(0.1), { path: PLAIN_REQUEST.path, secretsFile: unknown, status: 401, limits: false }],
    [share(0.1), { path: '/api/v1/nothing', status: 404, limits: false }],
  ]) {
    await gateway.redisIsBack();
    truncateLog(gateway.program);
    const { load } = await measureInterval(gateway, { seconds, connections: CONNECTIONS, request });
    total.requests += load.requests;
    if (gateway.lostRedis()) total.lostRedis += 1;
  }
}

/**
 * Fits a line to points by least squares.
 * @param {[number, number][]} points x and y of at least three points
 * @returns {{ slope: number, error: number }} the slope and its standard error
 */
function slopeOf(points) {
  const mean = (index) => points.reduce((sum, point) => sum + point[index], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  let xx = 0;
  let xy = 0;
  for (const [x, y] of points) {
    xx += (x - meanX) ** 2;
    xy += (x - meanX) * (y - meanY);
  }
  const slope = xy / xx;
  const left = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0);
  return { slope, error: Math.sqrt(left / (points.length - 2) / xx) };
}

/** Assesses the growth of the memory during the settled part of the run. */
function assessGrowth(samples) {
  const settled = samples.slice(Math.floor(samples.length * SETTLED_AFTER));
  const requests = settled.at(-1).requests - settled[0].requests;
  const growthOf = (value) => {
    const { slope, error } = slopeOf(settled.map((sample) => [sample.requests, value(sample)]));
    const last = value(settled.at(-1));
    return { bytesPerRequest: slope * 1e6, error: error * 1e6, share: (slope * requests) / last, last };
  };
  const heap = growthOf((sample) => sample.heap + sample.buffers);
  const resident = growthOf((sample) => sample.resident);
  return { settled, requests, heap, resident, flat: heap.share <= FLAT_HEAP && resident.share <= FLAT_RESIDENT };
}

export const howLong = ({ samples }) => `${CONNECTIONS} connections, ${whole(samples.at(-1).seconds / 60)} minutes`;

export function table({ samples, lostRedis }) {
  if (samples.length < 6) return `${samples.map(lineOf).join('\n')}\n\nToo short for a verdict.`;
  const { requests, heap, resident, flat } = assessGrowth(samples);
  const at = (share) => samples[Math.min(samples.length - 1, Math.floor(samples.length * share))];
  const rows = [samples[0], at(SETTLED_AFTER), at(2 / 3), samples.at(-1)].map((sample) => ({
    ...sample,
    title: `${fixed(sample.seconds / 60, 0)} min`,
  }));
  const columns = {
    requests: (row) => whole(row.requests),
    'heap MB': (row) => fixed(row.heap),
    'buffers MB': (row) => fixed(row.buffers),
    'resident MB': (row) => fixed(row.resident, 0),
  };
  const slope = ({ bytesPerRequest, error, share }) =>
    `${fixed(bytesPerRequest, 2)} ± ${fixed(2 * error, 2)} bytes a request (${fixed(share * 100)} %)`;
  return [
    tableOf('after', rows, columns),
    aimLine(
      `flat over the last ${whole(requests)} requests (heap within ${FLAT_HEAP * 100} %, resident within ${FLAT_RESIDENT * 100} %)`,
      `heap and buffers ${slope(heap)}, resident ${slope(resident)}`,
      flat,
    ),
    ...(lostRedis > 0 ? [`> In ${lostRedis} intervals Redis was too slow, and the gateway counted without it.`] : []),
  ].join('\n\n');
}
