/** Starts the built customers backend as a separate process, as operators run it. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { StdioOptions } from 'node:child_process';
import { eventually, spawnOwned, type Exit, type OwnedProcess } from './processes.js';

const MAIN = resolve('dist/customers/main.js');

export type Environment = Readonly<Record<string, string>>;

export interface RunningCustomers {
  /** Origin, without a trailing slash. */
  readonly url: string;
  readonly process: OwnedProcess;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  /** Sends SIGTERM and waits until the process has ended. */
  stop(): Promise<Exit>;
  kill9(): Promise<void>;
}

/** Starts the process without waiting for it. Uses a free port, unless `env` specifies one. */
export function spawnCustomers(env: Environment, stdio?: StdioOptions): OwnedProcess {
  if (!existsSync(MAIN)) throw new Error('dist/customers/main.js does not exist: run "npm run build" first');
  const environment = { PATH: process.env['PATH'] ?? '', TRAILGATE_CUSTOMERS_PORT: '0', ...env };
  return spawnOwned(process.execPath, [MAIN], { env: environment, ...(stdio === undefined ? {} : { stdio }) });
}

function linesOf(stream: NodeJS.ReadableStream | null): string[] {
  const lines: string[] = [];
  if (stream !== null) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  return lines;
}

/** Starts the process and waits until it listens. The caller must stop it. */
export async function startCustomers(env: Environment, stdio?: StdioOptions): Promise<RunningCustomers> {
  const started = spawnCustomers(env, stdio);
  const [stdout, stderr] = [linesOf(started.child.stdout), linesOf(started.child.stderr)];
  await eventually(
    'the customers backend listens',
    () => {
      if (!started.isRunning()) throw new Error(`the customers backend exited during startup:\n${stderr.join('\n')}`);
      return stdout.length > 0;
    },
    30_000,
  );
  const { url } = JSON.parse(stdout[0] ?? '{}') as { url: string };
  return {
    url,
    process: started,
    stdout,
    stderr,
    stop: () => started.end('SIGTERM'),
    kill9: async () => void (await started.end('SIGKILL')),
  };
}

/** Starts the process with an environment that makes it fail. Returns its exit code and output. */
export async function failToStart(env: Environment): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const started = spawnCustomers(env);
  const [stdout, stderr] = [linesOf(started.child.stdout), linesOf(started.child.stderr)];
  started.child.ref();
  const { code } = await started.exited;
  // The last lines can arrive after the exit.
  await eventually('stderr has output', () => stderr.length > 0);
  return { code, stdout: stdout.join('\n'), stderr: stderr.join('\n') };
}
