/** The built program as its users run it: a process of its own, spoken to over HTTP, signals and its log. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { AdminClient } from './admin.js';
import { eventually, spawnOwned, temporaryFolder, type Exit, type OwnedProcess } from './processes.js';
import { writeConfig, type Json } from './program-config.js';

export type Role = 'gateway' | 'admin' | 'worker';

export interface TrailgateOptions {
  /** Targets of the default service; without any, nothing listens there. */
  readonly backend?: string | readonly string[];
  /** Merged over the default of `program-config.ts`. */
  readonly config?: Json;
  /** Instead of the default service's document. */
  readonly openapi?: Json;
  /** Beside PATH nothing of this process's environment reaches the program. */
  readonly env?: Readonly<Record<string, string>>;
  /** All three unless said. */
  readonly roles?: readonly Role[];
  /** A new temporary folder unless given, which then is kept for the next start. */
  readonly dataDir?: string;
  readonly adminToken?: string;
  /** `main.js` of another version. */
  readonly main?: string;
  /** More arguments of `start`. */
  readonly args?: readonly string[];
  /** The most file descriptors that the program may have, by `prlimit`. */
  readonly descriptors?: number;
  /** Gets the lines of its stdout as they come: for a test that looks at them before it listens. */
  readonly stdout?: string[];
}

export interface RunningTrailgate {
  /** Origin of the public listener; throws where the role does not run. */
  readonly gatewayUrl: string;
  /** Origin of the admin listener; throws where the role does not run. */
  readonly adminUrl: string;
  readonly adminToken: string;
  readonly admin: AdminClient;
  readonly dataDir: string;
  readonly configPath: string;
  readonly pid: number;
  readonly stdout: string[];
  readonly stderr: readonly string[];
  /** The lines of stdout that are JSON objects, so far. */
  logs(): Record<string, unknown>[];
  /** Sends a signal, for example SIGHUP. */
  signal(name: NodeJS.Signals): void;
  /** False once it has ended. */
  isRunning(): boolean;
  /** SIGTERM, and waits for the end. Harmless when it has ended already. */
  stop(timeoutMs?: number): Promise<Exit>;
  kill9(): Promise<void>;
  readonly exited: Promise<Exit>;
}

/** The result of a command of the program. */
export interface CommandResult extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

const MAIN = resolve('dist/main.js');
/** `NODE_COMPILE_CACHE`, what Node keeps of the program when it was compiled: a start takes a seventh less of a processor. */
export const COMPILED = resolve('node_modules/.cache/compiled');
const UNUSED_TARGET = 'http://127.0.0.1:9';

function spawnProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
  { descriptors, main = MAIN }: Pick<TrailgateOptions, 'descriptors' | 'main'> = {},
): OwnedProcess {
  if (!existsSync(MAIN)) throw new Error('dist/main.js does not exist: run "npm run build" first');
  const environment = { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: COMPILED, ...env };
  const command = [process.execPath, main, ...args];
  // It becomes the program: the same process.
  if (descriptors !== undefined) command.unshift('prlimit', `--nofile=${descriptors}:${descriptors}`);
  const [file = '', ...rest] = command;
  return spawnOwned(file, rest, { env: environment, cwd });
}

function collectLines(stream: NodeJS.ReadableStream | null, lines: string[] = []): string[] {
  if (stream !== null) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  return lines;
}

/** The lines that are JSON objects. */
export function parseLogs(lines: readonly string[]): Record<string, unknown>[] {
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Record<string, unknown>);
}

export function targetsOf({ backend = UNUSED_TARGET }: Pick<TrailgateOptions, 'backend'>): string[] {
  return [backend].flat();
}

/** Starts the program and waits until every role that listens says where. The caller stops it. */
export async function startTrailgate(options: TrailgateOptions = {}): Promise<RunningTrailgate> {
  const folder = temporaryFolder('program');
  const configPath = writeConfig(folder, { ...options, targets: targetsOf(options) });
  const dataDir = options.dataDir ?? `${folder}/data`;
  const adminToken = options.adminToken ?? `test-admin-${randomBytes(20).toString('hex')}`;
  const env = { TRAILGATE_DATA_DIR: dataDir, TRAILGATE_ADMIN_TOKEN: adminToken, LOG_LEVEL: 'info', ...options.env };
  const roleArgs = options.roles === undefined ? [] : ['--roles', options.roles.join(',')];
  const args = ['start', '--config', configPath, ...roleArgs, ...(options.args ?? [])];
  const program = spawnProgram(args, env, folder, options);
  const stdout = collectLines(program.child.stdout, options.stdout);
  const stderr = collectLines(program.child.stderr);
  const logs = () => parseLogs(stdout);
  const urlOf = (role: Role) =>
    logs().find((line) => line['event'] === 'listening' && line['role'] === role)?.['url'] as string | undefined;

  const expected = (options.roles ?? (['gateway', 'admin'] as const)).filter((role) => role !== 'worker');
  const output = () => `\n${[...stdout, ...stderr].slice(-40).join('\n')}`;
  await eventually(
    `the program listens`,
    () => {
      if (!program.isRunning()) throw new Error(`the program ended before it listened:${output()}`);
      return expected.every((role) => urlOf(role) !== undefined);
    },
    60_000,
  ).catch(async (error: unknown) => {
    if (!program.isRunning()) throw error;
    await program.end('SIGKILL');
    throw new Error(`${String(error)}:${output()}`);
  });

  const urls = new Map<Role, string>();
  const listening = (role: Role) => {
    // A process that is no admin has an address for its health, later than those that are waited for.
    const url = urls.get(role) ?? urlOf(role);
    if (url === undefined) throw new Error(`this program does not run the role ${role}`);
    urls.set(role, url);
    return url;
  };
  for (const role of expected) listening(role);
  return {
    get gatewayUrl() {
      return listening('gateway');
    },
    get adminUrl() {
      return listening('admin');
    },
    get admin() {
      return new AdminClient(listening('admin'), adminToken);
    },
    adminToken,
    dataDir,
    configPath,
    pid: program.pid,
    stdout,
    stderr,
    logs,
    signal: (name) => void program.child.kill(name),
    isRunning: program.isRunning,
    stop: (timeoutMs) => program.end('SIGTERM', timeoutMs),
    kill9: async () => void (await program.end('SIGKILL')),
    exited: program.exited,
  };
}

/** Runs a command of the program (`check`, `keys create`, or a `start` that must fail) to its end. */
export async function runTrailgate(
  args: readonly string[],
  { env = {}, cwd = temporaryFolder('command'), timeoutMs = 60_000 }: RunOptions = {},
): Promise<CommandResult> {
  const program = spawnProgram(args, env, cwd);
  program.child.ref();
  const output = { stdout: '', stderr: '' };
  program.child.stdout?.on('data', (chunk) => (output.stdout += chunk));
  program.child.stderr?.on('data', (chunk) => (output.stderr += chunk));
  const closed = new Promise((done) => program.child.once('close', done));
  const timer = setTimeout(() => program.child.kill('SIGKILL'), timeoutMs);
  const exit = await program.exited;
  await closed;
  clearTimeout(timer);
  return { ...exit, ...output };
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** A new temporary folder unless given. */
  readonly cwd?: string;
  /** After it the command is killed: `signal` is then SIGKILL. 60 s unless said. */
  readonly timeoutMs?: number;
}
