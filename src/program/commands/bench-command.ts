/**
 * Defines `trailgate bench`, which sends requests to a running gateway at a constant rate and shows latencies and
 * statuses.
 */
import { Agent as HttpAgent, request as httpRequest, type ClientRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { InvalidArgumentError, type Command } from 'commander';
import { readClientEnvironment } from '../../config/client-environment.js';

const LARGEST_RATE = 20_000;
const LONGEST_RUN_SECONDS = 600;
const MAX_CONNECTIONS = 1_000;
/** A request fails if its connection transfers no data for this time. */
const TIMEOUT_MS = 10_000;
const TICK_MS = 1;
const PERCENTILES = [50, 90, 99, 99.9] as const;

interface BenchOptions {
  readonly against: URL;
  readonly rate: number;
  readonly seconds: number;
  readonly connections: number;
  readonly json?: boolean;
}

/** BenchResult is the result of a run. All percentiles are in milliseconds. */
export interface BenchResult {
  readonly sent: number;
  readonly seconds: number;
  /** Counts of responses, by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Counts of requests without a response, by error code. */
  readonly failures: Readonly<Record<string, number>>;
  /** Percentiles of the time from the instant at which a request was due to the end of its response. */
  readonly latency: Readonly<Record<string, number>>;
  /** Percentiles of the delay with which this command itself sent requests. The latencies include this delay. */
  readonly late: Readonly<Record<string, number>>;
}

/** Adds `bench` to the program. */
export function addBenchCommand(program: Command): void {
  program
    .command('bench')
    .description('send GET requests to a gateway at a constant rate; the API key is in TRAILGATE_BENCH_KEY')
    .requiredOption(
      '--against <url>',
      'URL of an operation, such as https://api.example.com/api/v1/customers',
      parseUrl,
    )
    .option('--rate <n>', 'requests per second', parseUpTo(LARGEST_RATE), 100)
    .option('--seconds <n>', 'duration', parseUpTo(LONGEST_RUN_SECONDS), 10)
    .option('--connections <n>', 'maximum connections', parseUpTo(MAX_CONNECTIONS), 50)
    .option('--json', 'print JSON, for scripts')
    .action(async (options: BenchOptions) => {
      const result = await runBench(options, readClientEnvironment().benchKey);
      process.stdout.write(options.json === true ? `${JSON.stringify(result, null, 2)}\n` : resultText(result));
      if (Object.keys(result.statuses).length === 0) process.exitCode = 1;
    });
}

function parseUrl(text: string): URL {
  if (!URL.canParse(text) || !/^https?:/.test(text)) throw new InvalidArgumentError('It must be an http or https URL.');
  return new URL(text);
}

function parseUpTo(most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,6}$/.test(text) ? Number(text) : 0;
    if (value < 1 || value > most) throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`);
    return value;
  };
}

/**
 * Sends the requests. The due time of each request is fixed before the first request is sent. Latency counts from the
 * due time, even if all connections are busy. A stalled gateway therefore delays all requests that become due.
 */
export async function runBench(
  { against, rate, seconds, connections }: Omit<BenchOptions, 'json'>,
  apiKey: string | undefined,
): Promise<BenchResult> {
  const total = rate * seconds;
  const latencies: number[] = [];
  const lateness: number[] = [];
  const statuses: Record<string, number> = {};
  const failures: Record<string, number> = {};
  const isTls = against.protocol === 'https:';
  const agent = new (isTls ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: connections });
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const open = (): ClientRequest =>
    (isTls ? httpsRequest : httpRequest)(against, { agent: agent as HttpsAgent, headers, timeout: TIMEOUT_MS });
  const startMs = performance.now();
  const dueMs = (index: number): number => startMs + (index * 1_000) / rate;

  await new Promise<void>((resolve) => {
    let [sent, ended] = [0, 0];
    const end = (): void => {
      ended += 1;
      if (ended === total) resolve();
    };
    const sendOne = (index: number): void => {
      lateness.push(performance.now() - dueMs(index));
      const request = open();
      request.on('timeout', () => request.destroy(Object.assign(new Error('timeout'), { code: 'timeout' })));
      request.on('error', (error: NodeJS.ErrnoException) => {
        const code = error.code ?? error.message;
        failures[code] = (failures[code] ?? 0) + 1;
        end();
      });
      request.on('response', (response) => {
        response.resume();
        response.on('end', () => {
          latencies.push(performance.now() - dueMs(index));
          const status = String(response.statusCode);
          statuses[status] = (statuses[status] ?? 0) + 1;
          end();
        });
      });
      request.end();
    };
    const timer = setInterval(() => {
      while (sent < total && dueMs(sent) <= performance.now()) sendOne(sent++);
      if (sent === total) clearInterval(timer);
    }, TICK_MS);
  });
  agent.destroy();
  return {
    sent: total,
    seconds: (performance.now() - startMs) / 1_000,
    statuses,
    failures,
    latency: percentilesOf(latencies),
    late: percentilesOf(lateness),
  };
}

function percentilesOf(values: readonly number[]): Record<string, number> {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const named = PERCENTILES.map((percentile) => [`p${percentile}`, at(percentile / 100)] as const);
  return Object.fromEntries([...named, ['max', sorted.at(-1) ?? 0] as const].map(([name, ms]) => [name, round(ms)]));
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}

function resultText({ sent, seconds, statuses, failures, latency, late }: BenchResult): string {
  const percentiles = (values: Readonly<Record<string, number>>): string =>
    Object.entries(values)
      .map(([name, ms]) => `${name} ${ms}`)
      .join('  ');
  const counts = Object.entries({ ...statuses, ...failures }).map(([name, count]) => `  ${name}  ${count}`);
  return [
    `${sent} requests in ${seconds.toFixed(1)} s, ${Math.round(sent / seconds)} per second`,
    ...counts,
    `latency ms  ${Object.keys(statuses).length === 0 ? 'no responses' : percentiles(latency)}`,
    `late ms     ${percentiles(late)}   (part of the latency)`,
    '',
  ].join('\n');
}
