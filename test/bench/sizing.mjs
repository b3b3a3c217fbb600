/**
 * `npm run bench:sizing`: computes how many processes, Redis masters and database writes a rate of requests needs. The
 * model uses the measurements in docs/benchmarks.md, and measures nothing itself. test/sizing.spec.ts compares it with
 * measured points.
 */
import { readFileSync } from 'node:fs';

export const options = {};
export const measuresProgram = () => false;

/** Planned utilization of a core, of Redis and of PostgreSQL. The rest is for peaks and the loss of a machine. */
const TARGET_USE = 0.6;
const PROCESSES_PER_GATEWAY = 4;
/** Time of a call to Redis in the same data center in µs, without the time of the script. */
const ROUND_TRIP_US = 90;
/** Default of `usage.flushInterval`. */
const FLUSH_SECONDS = 5;
const MAX_IN_A_CALL = 256;
/**
 * Rows of usage and counts that PostgreSQL on two cores wrote per second: 2,100 in 20 ms (`bench:quotas` with
 * `DATABASE_URL`).
 */
const POSTGRES_ROWS_PER_SECOND = 105_000;

const RATES = [10_000, 100_000, 1_000_000];
const ACTIVE_KEYS = 100_000;
const KEYS_PER_ACCOUNT = 10;

/** Reads the figures from the tables in docs/benchmarks.md. */
export function readFigures(page = readFileSync('docs/benchmarks.md', 'utf8')) {
  const number = (text) => Number(text.replaceAll(',', ''));
  const [, keysTable] = /load keys: written([\s\S]*?)end of load keys/.exec(page);
  const keyRows = [
    ...keysTable.matchAll(/^\| ([\d,]+) \| ([\d.]+) \| [\d.]+ \| ([\d,]+) \|.*\| ([\d.]+) \| (\d+) % \| \d+ \|/gm),
  ];
  const figure = (what) => number(new RegExp(`^\\| ${what}.*?\\| ([\\d.,]+)`, 'm').exec(page)[1]);
  const inOneCall = [...page.matchAll(/^\| script time of a decision, (\d+) in one call \| ([\d.]+) µs/gm)];
  return {
    /** CPU time (`us`), requests per second (`rate`) and core utilization (`use`) of a gateway by number of keys. */
    gateway: keyRows.map(([, keys, us, rate, calls, use]) => ({
      keys: number(keys),
      us: number(us),
      rate: number(rate),
      callsPerRequest: number(calls),
      use: number(use) / 100,
    })),
    /** Time of the script per decision in µs, by number of decisions in a call. */
    script: [
      { inCall: 1, us: figure('script time of a decision, alone') },
      ...inOneCall.map(([, inCall, us]) => ({ inCall: number(inCall), us: number(us) })),
    ],
    decisionsPerSecond: figure('decisions a second, 64 at a time, one connection'),
    bytesOfKey: figure('Redis memory of an account and its key, used in every second of the minute \\(listpack\\)'),
  };
}

/** Returns the time of the script per decision in µs, interpolated linearly between measured points. */
export function scriptMicroseconds({ script }, inCall) {
  const after = script.findIndex((point) => point.inCall >= inCall);
  if (after <= 0) return script.at(after).us;
  const [low, high] = [script[after - 1], script[after]];
  return low.us + ((high.us - low.us) * (inCall - low.inCall)) / (high.inCall - low.inCall);
}

/** Returns the number of decisions that gather in a process during a call to Redis. */
export function decisionsPerCall(figures, ratePerProcess) {
  let inCall = 1;
  for (let round = 0; round < 50; round++) {
    const callUs = ROUND_TRIP_US + inCall * scriptMicroseconds(figures, inCall);
    inCall = Math.min(MAX_IN_A_CALL, Math.max(1, (ratePerProcess * callUs) / 1e6));
  }
  return inCall;
}

/**
 * Computes the resources for a rate of requests.
 * @param rate requests per second
 * @param activeKeys number of keys that are in use
 */
export function sizeFor(figures, rate, activeKeys) {
  const { us } = figures.gateway.findLast(({ keys }) => keys <= activeKeys) ?? figures.gateway[0];
  const processes = Math.ceil((rate * us) / 1e6 / TARGET_USE);
  const inCall = decisionsPerCall(figures, rate / processes);
  // In a Redis Cluster, a call contains the decisions of only one account. The model assumes one decision per call.
  const alone = scriptMicroseconds(figures, 1);
  const single = (rate * scriptMicroseconds(figures, inCall)) / 1e6 / TARGET_USE;
  const rowsOfProcess = Math.min(activeKeys, (rate / processes) * FLUSH_SECONDS);
  // Each key has a row for its count and one for its usage. Each account has a row for its count.
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
    /** Shortest `usage.flushInterval` in seconds at which PostgreSQL keeps up, if each flush contains all keys. */
    flushSeconds: Math.ceil(Math.max(1, databaseUse) * FLUSH_SECONDS),
  };
}

/** Returns the table as Markdown. */
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
