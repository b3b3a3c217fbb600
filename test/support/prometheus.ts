/** Starts a real Prometheus for tests, on a free loopback port and with its data in a temporary folder. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { eventually, freePort, spawnOwned, temporaryFolder, type OwnedProcess } from './processes.js';
import { findPrometheus } from './servers.js';

/** Scrape interval and timeout. Short enough for tests to wait, long enough for a scrape on a busy machine. */
const SCRAPE_INTERVAL = '2s';

/** Sample is one series of an instant vector. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface PrometheusServer {
  readonly url: string;
  /**
   * Evaluates a PromQL expression now. Returns a scalar as one sample without labels. Rejects with Prometheus's error
   * message if the expression is invalid.
   */
  query(expression: string): Promise<Sample[]>;
  /** Waits until every target was scraped `times` more times, and its last scrape succeeded. */
  scraped(times?: number): Promise<void>;
  stop(): Promise<void>;
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: {
    readonly resultType: string;
    readonly result: readonly { metric: Record<string, string>; value: [number, string] }[] | [number, string];
  };
}

/**
 * Starts a server that scrapes these origins. Their names become the `instance` labels. The caller must stop it.
 * @param options.rules text of a rule file. With rules, the server scrapes and evaluates every second.
 * @param options.features values for `--enable-feature`
 */
export async function startPrometheus(
  origins: Readonly<Record<string, string>>,
  { rules, features = [] }: { readonly rules?: string; readonly features?: readonly string[] } = {},
): Promise<PrometheusServer> {
  const folder = temporaryFolder('prometheus');
  const targets = Object.entries(origins).map(([instance, origin]) => ({
    targets: [new URL(origin).host],
    labels: { instance },
  }));
  const interval = rules === undefined ? SCRAPE_INTERVAL : '1s';
  if (rules !== undefined) writeFileSync(join(folder, 'rules.yaml'), rules);
  const config = {
    global: { scrape_interval: interval, evaluation_interval: interval, scrape_timeout: interval },
    ...(rules === undefined ? {} : { rule_files: ['rules.yaml'] }),
    scrape_configs: [{ job_name: 'trailgate', static_configs: targets }],
  };
  const file = join(folder, 'prometheus.yaml');
  writeFileSync(file, stringify(config));
  const { server, url } = await launch(file, folder, features);
  const query = (expression: string): Promise<Sample[]> => ask(url, expression);
  return {
    url,
    query,
    async scraped(times = 1) {
      const counts = async () =>
        (await query('count_over_time(up[1h]) and on (instance) up == 1')).map(({ value }) => value);
      const before = await counts();
      const wanted = before.length === Object.keys(origins).length ? before.map((count) => count + times) : undefined;
      await eventually('every target has been scraped again', async () => {
        const now = await counts();
        return (
          now.length === Object.keys(origins).length && now.every((count, index) => count >= (wanted?.[index] ?? times))
        );
      });
    },
    async stop() {
      await server.end('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function launch(
  file: string,
  folder: string,
  features: readonly string[],
): Promise<{ server: OwnedProcess; url: string }> {
  const binary = findPrometheus()?.server;
  if (binary === undefined) throw new Error('prometheus is not on PATH');
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const args = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'data')}`, '--log.level=warn'];
    if (features.length > 0) args.push(`--enable-feature=${features.join(',')}`);
    const server = spawnOwned(binary, [...args, `--web.listen-address=127.0.0.1:${port}`]);
    let output = '';
    for (const stream of [server.child.stdout, server.child.stderr]) stream?.on('data', (chunk) => (output += chunk));
    try {
      await eventually(`prometheus is ready on port ${port}`, async () => {
        if (!server.isRunning()) throw new Error(`prometheus ended at once:\n${output}`);
        return fetch(`${url}/-/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
      });
      return { server, url };
    } catch (error) {
      await server.end('SIGKILL');
      if (!output.includes('address already in use') || attempt === 5) throw error;
    }
  }
}

async function ask(url: string, expression: string): Promise<Sample[]> {
  const response = await fetch(`${url}/api/v1/query`, {
    method: 'POST',
    body: new URLSearchParams({ query: expression }),
  });
  const { status, error, data } = (await response.json()) as Answer;
  if (status !== 'success') throw new Error(`${expression}: ${error}`);
  if (data.resultType === 'scalar') return [{ labels: {}, value: Number((data.result as [number, string])[1]) }];
  const rows = data.result as readonly { metric: Record<string, string>; value: [number, string] }[];
  return rows.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
}

/** Returns the errors of `promtool check metrics` for a scrape. Empty if there are none. */
export function complaintsOfPromtool(input: string): string {
  const tool = findPrometheus()?.tool ?? '';
  const { stderr, status } = spawnSync(tool, ['check', 'metrics'], { input, encoding: 'utf8' });
  return `${stderr}${status === 0 ? '' : `status ${status}`}`;
}
