/**
 * `npm run bench:sizing`: how many processes, Redis masters and database writes a rate of requests needs. A model of figures that
 * docs/benchmarks.md has measured; it measures nothing itself. test/sizing.spec.ts compares it with measured points.
 */
import { readFileSync } from 'node:fs';

export const options = {};
export const measuresProgram = () => false;

/** Share of a core, or of Redis, that is planned for. The rest is for peaks and the loss of a machine. */
const TARGET_USE = 0.6;
const PROCESSES_PER_GATEWAY = 4;
/** Between gateways and Redis in one data center, with the work of both, beside the script itself. */
const ROUND_TRIP_US = 90;
/** `usage.flushInterval`, unless set. */
const FLUSH_SECONDS = 5;
const MAX_IN_A_CALL = 256;
/** Rows of usage and counts that one PostgreSQL on a machine of two cores wrote: 2,100 in 20 ms (`bench:quotas` with DATABASE_URL). */
const POSTGRES_ROWS_PER_SECOND = 105_000;

const RATES = [10_000, 100_000, 1_000_000];
const ACTIVE_KEYS = 100_000;
const KEYS_PER_ACCOUNT = 10;

/** Reads the figures of docs/benchmarks.md. */
export function readFigures(page = readFileSync('docs/benchmarks.md', 'utf8')) {
  const number = (text) => Number(text.replaceAll(',', ''));
  const [, keysTable] = /load keys: written([\s\S]*?)end of load keys/.exec(page);
  const keyRows = [
    ...keysTable.matchAll(/^\| ([\d,]+) \| ([\d.]+) \| [\d.]+ \| ([\d,]+) \|.*\| ([\d.]+) \| (\d+) % \| \d+ \|/gm),
  ];
  const figure = (what) => number(new RegExp(`^\\| ${what}.*?\\| ([\\d.,]+)`, 'm').exec(page)[1]);
  const inOneCall = [...page.matchAll(/^\| script time of a decision, (\d+) in one call \| ([\d.]+) µs/gm)];
  return {
    /** CPU time of the gateway for a request, with counters in Redis. */
    gateway: keyRows.map(([, keys, us, rate, calls, use]) => ({
      keys: number(keys),
      us: number(us),
      rate: number(rate),
      callsPerRequest: number(calls),
      use: number(use) / 100,
    })),
    /** Time that Redis spends on a decision, by decisions in a call. */
    script: [
      { inCall: 1, us: figure('script time of a decision, alone') },
      ...inOneCall.map(([, inCall, us]) => ({ inCall: number(inCall), us: number(us) })),
    ],
    decisionsPerSecond: figure('decisions a second, 64 at a time, one connection'),
    bytesOfKey: figure('Redis memory of an account and its key, used in every second of the minute \\(listpack\\)'),
  };
}

/** Time of a decision in Redis, in µs: straight lines between measured points. */
export function scriptMicroseconds({ script }, inCall) {
  const after = script.findIndex((point) => point.inCall >= inCall);
  if (after <= 0) return script.at(after).us;
  const [low, high] = [script[after - 1], script[after]];
  return low.us + ((high.us - low.us) * (inCall - low.inCall)) / (high.inCall - low.inCall);
}

/** Decisions that gather in a process during a call to Redis. */
export function decisionsPerCall(figures, ratePerProcess) {
  let inCall = 1;
  for (let round = 0; round < 50; round++) {
    const callUs = ROUND_TRIP_US + inCall * scriptMicroseconds(figures, inCall);
    inCall = Math.min(MAX_IN_A_CALL, Math.max(1, (ratePerProcess * callUs) / 1e6));
  }
  return inCall;
}

/** What a rate needs. @param rate requests per second @param activeKeys keys that are used within `FLUSH_SECONDS` */
export function sizeFor(figures, rate, activeKeys) {
  const { us } = figures.gateway.findLast(({ keys }) => keys <= activeKeys) ?? figures.gateway[0];
  const processes = Math.ceil((rate * us) / 1e6 / TARGET_USE);
  const inCall = decisionsPerCall(figures, rate / processes);
  // A call to a Cluster has the decisions of one account only.
  const alone = scriptMicroseconds(figures, 1);
  const single = (rate * scriptMicroseconds(figures, inCall)) / 1e6 / TARGET_USE;
  const rowsOfProcess = Math.min(activeKeys, (rate / processes) * FLUSH_SECONDS);
  // Each key is written with its count and its usage, and each account with its count.
  const rowsPerSecond = (processes * rowsOfProcess * (2 + 1 / KEYS_PER_ACCOUNT)) / FLUSH_SECONDS;
  const databaseUse = rowsPerSecond / POSTGRES_ROWS_PER_SECOND / TARGET_USE;
  return {
    processes,
    gateways: Math.ceil(processes / PROCESSES_PER_GATEWAY),
    inCall,
    fitsOneRedis: single <= 1,
    masters: single <= 1 ? 1 : Math.ceil((rate * alone) / 1e6 / TARGET_USE),
    redisMegabytes: (activeKeys * figures.bytesOfKey) / 1e6,
    rowsPerSecond,
    /** The shortest `usage.flushInterval` at which such a PostgreSQL keeps up, once all keys are in each flush. */
    flushSeconds: Math.ceil(Math.max(1, databaseUse) * FLUSH_SECONDS),
  };
}

/** Returns the table. */
export async function measure() {
  const figures = readFigures();
  const format = (value) => Math.round(value).toLocaleString('en');
  const lines = RATES.map((rate) => {
    const size = sizeFor(figures, rate, ACTIVE_KEYS);
    const redis = size.fitsOneRedis ? 'one' : `Cluster of ${size.masters} masters`;
    return `| ${format(rate)} | ${size.processes} | ${size.gateways} | ${redis} | ${format(size.redisMegabytes)} MB | ${format(size.rowsPerSecond)} | ${size.flushSeconds} s |`;
  });
  return [
    `Modeled, not measured: ${format(ACTIVE_KEYS)} active keys, ${KEYS_PER_ACCOUNT} per account.`,
    '',
    '| requests/s | gateway processes | gateways of 4 cores | Redis | its memory | rows/s written every 5 s | `usage.flushInterval` |',
    '| ---: | ---: | ---: | --- | ---: | ---: | ---: |',
    ...lines,
  ].join('\n');
}
