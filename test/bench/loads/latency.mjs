/** Load 1: what the gateway adds to the latency of a request at 10, 50 and 80 % of what it can take. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PLAIN_REQUEST } from '../load.mjs';
import { median } from '../report.mjs';
import { runFixedRate } from './fixed-rate.mjs';
import { aimLine, fixed, notesOf, tableOf, whole } from './report.mjs';
import { measureRows } from './rounds.mjs';
import { openScene } from './scene.mjs';

const SHARES = [0.1, 0.5, 0.8];
const QUANTILES = ['p50', 'p99', 'p999'];
const CHECK_RATE = 500;
const AIM_SHARE = 0.5;
const AIM_MS = 1;
const ATTEMPTS = 5;
/** The gateway writes its log within 100 ms. */
const LOG_MS = 200;
/** Rounds are longer than elsewhere: of 1,000 requests only one tells p99.9. */
const LEAST_SECONDS = 10;

export const title = 'Added latency at a fixed rate';

export async function measure({ rounds, seconds, check, quick }) {
  const gateway = await openScene({ name: 'latency' });
  if (check) {
    await compare(gateway, { rate: CHECK_RATE, seconds: 1 }, true);
    console.error(`latency: every answer was right, and counted once`);
    return { rows: [] };
  }
  const [closed] = await measureRows([{ id: 'capacity', title: 'capacity', gateway }], {
    rounds,
    seconds,
    check,
    quick,
  });
  const capacity = closed.medians.requestsPerSecond;
  const rows = SHARES.map((share) => ({ share, rate: Math.round(share * capacity), rounds: [] }));
  for (let round = 0; round < rounds; round++) {
    for (const row of rows) {
      const load = { rate: row.rate, seconds: quick ? seconds : Math.max(seconds, LEAST_SECONDS) };
      const compared = await compare(gateway, load, quick);
      row.rounds.push(compared);
      console.error(
        `latency at ${row.rate}/s: p99 ${fixed(compared.direct.p99, 3)} → ${fixed(compared.gateway.p99, 3)} ms`,
      );
    }
  }
  return { closed, capacity, rows };
}

/** The backend by itself, then through the gateway; done again where that went on without Redis meanwhile, unless `keepLost`. */
async function compare(gateway, load, keepLost) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { secretsFile, backend } = gateway;
    const direct = await counted(gateway, { url: backend.url, path: '/customers', secretsFile, limits: false }, load);
    await gateway.redisIsBack();
    const target = { url: gateway.url, path: PLAIN_REQUEST.path, secretsFile, limits: true };
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

/** Nothing is cut off at the end of this load: the backend and the month windows must have counted exactly what was answered. */
async function counted(gateway, target, load) {
  const read = async () => ({ backend: await gateway.backend.requests(), months: await gateway.monthTotal() });
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

export function table({ capacity, rows, closed }) {
  const columns = { 'requests/s': (row) => whole(row.rate) };
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
  const half = over(rows.find(({ share }) => share === AIM_SHARE), (round) => kinds.added(round, 'p99')); // prettier-ignore
  return [
    `Capacity, by the closed loop of 64 connections: ${whole(capacity)} requests a second. Milliseconds, medians of the rounds.`,
    tableOf('of capacity', titled, columns),
    aimLine(`under ${AIM_MS} ms added at p99 at half load`, `${fixed(half, 2)} ms`, half < AIM_MS),
    ...notesOf([closed, ...rows.map((row) => ({ ...row, id: `${row.rate} requests/s` }))]),
  ].join('\n\n');
}
