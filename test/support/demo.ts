/** Starts the demo as users do: the program with the example backend, and a link that signs in to the panel. */
import { createInterface } from 'node:readline';
import { resolve } from 'node:path';
import { eventually, freePort, spawnOwned, temporaryFolder } from './processes.js';
import { COMPILED } from './program.js';

const MAIN = resolve('dist/main.js');

export interface RunningDemo {
  /** Link that signs in to the panel. Works once. */
  readonly link: string;
  readonly panelUrl: string;
  readonly gatewayUrl: string;
  readonly adminUrl: string;
  /** API key of the demo account. Each start creates a new key. */
  readonly key: string;
  readonly dataDir: string;
  /** Returns everything printed so far. */
  output(): string;
  stop(): Promise<unknown>;
}

/**
 * Starts the demo on free ports with its own data folder. The caller must stop it.
 * @param args further arguments of the `demo` command
 */
export async function startDemo(dataDir = temporaryFolder('demo'), args: readonly string[] = []): Promise<RunningDemo> {
  const program = spawnOwned(process.execPath, [MAIN, 'demo', ...args], {
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_COMPILE_CACHE: COMPILED,
      LOG_LEVEL: 'info',
      TRAILGATE_GATEWAY_PORT: String(await freePort()),
      TRAILGATE_ADMIN_PORT: String(await freePort()),
      TRAILGATE_CUSTOMERS_PORT: String(await freePort()),
      TRAILGATE_DATA_DIR: dataDir,
    },
  });
  const lines: string[] = [];
  for (const stream of [program.child.stdout, program.child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  const output = (): string => lines.join('\n');
  await eventually(
    'the demo is ready',
    () => {
      if (!program.isRunning()) throw new Error(`the program ended:\n${output()}`);
      return output().includes('curl -i');
    },
    60_000,
  );
  const link = /Panel +(\S+)/.exec(output())?.[1] ?? '';
  const admin = /Admin API +(http\S+)/.exec(output())?.[1] ?? '';
  const key = /Bearer ([^']+)'/.exec(output())?.[1] ?? '';
  const api = /API +(http\S+)/.exec(output())?.[1] ?? '';
  return {
    link,
    panelUrl: new URL(link).origin,
    gatewayUrl: new URL(api).origin,
    adminUrl: new URL(admin).origin,
    key,
    dataDir,
    output,
    stop: () => program.end('SIGTERM'),
  };
}
