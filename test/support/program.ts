/** Starts the built program as users do. Tests use it through HTTP, signals and its log. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { AdminClient } from './admin.js';
import { eventually, spawnOwned, temporaryFolder, type Exit, type OwnedProcess } from './processes.js';
import { writeConfig, type Json } from './program-config.js';

export type Role = 'gateway' | 'admin' | 'worker';

export interface TrailgateOptions {
  /** Targets of the default service. By default, a URL where nothing listens. */
  readonly backend?: string | readonly string[];
  /** Merged over the default configuration (`program-config.ts`). */
  readonly config?: Json;
  /** Replaces the OpenAPI document of the default service. */
  readonly openapi?: Json;
  /** Additional environment variables. From this process, the program inherits only PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** All three by default. */
  readonly roles?: readonly Role[];
  /** A new temporary folder by default. Pass a folder to use its data again after a restart. */
  readonly dataDir?: string;
  readonly adminToken?: string;
  /** Path of `main.js` of another version. */
  readonly main?: string;
  /** Additional arguments of `start`. */
  readonly args?: readonly string[];
  /** Maximum number of file descriptors of the program. Set by `prlimit`. */
  readonly descriptors?: number;
  /** Receives the lines of stdout. For tests that read them before the program listens. */
  readonly stdout?: string[];
}

export interface RunningTrailgate {
  /** Origin of the public listener. Throws if the program has not logged it. */
  readonly gatewayUrl: string;
  /** Origin of the admin listener. Throws if the program has not logged it. */
  readonly adminUrl: string;
  readonly adminToken: string;
  readonly admin: AdminClient;
  readonly dataDir: string;
  readonly configPath: string;
  readonly pid: number;
  readonly stdout: string[];
  readonly stderr: readonly string[];
  /** Returns the lines of stdout so far that are JSON objects, parsed. */
  logs(): Record<string, unknown>[];
  /** Sends a signal, for example SIGHUP. */
  signal(name: NodeJS.Signals): void;
  isRunning(): boolean;
  /** Sends SIGTERM and waits for the end. Safe to call if the program has already ended. */
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
/** Value of `NODE_COMPILE_CACHE`, Node's cache of compiled code. It saves a seventh of the CPU time of a start. */
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
  // `prlimit` executes the program in the same process, so the process ID stays valid.
  if (descriptors !== undefined) command.unshift('prlimit', `--nofile=${descriptors}:${descriptors}`);
  const [file = '', ...rest] = command;
  return spawnOwned(file, rest, { env: environment, cwd });
}

function collectLines(stream: NodeJS.ReadableStream | null, lines: string[] = []): string[] {
  if (stream !== null) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  return lines;
}

/** Returns the lines that are JSON objects, parsed. */
export function parseLogs(lines: readonly string[]): Record<string, unknown>[] {
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Record<string, unknown>);
}

export function targetsOf({ backend = UNUSED_TARGET }: Pick<TrailgateOptions, 'backend'>): string[] {
  return [backend].flat();
}

/** Starts the program and waits until it has logged the address of every role. The caller must stop it. */
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
    // A process without the admin role has an admin listener for health, which may open later than the awaited ones.
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

/** Runs a command of the program to its end, such as `check`, `keys create`, or a `start` that must fail. */
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
  /** A new temporary folder by default. */
  readonly cwd?: string;
  /** Time after which the command is killed, so that `signal` is SIGKILL. 60 s by default. */
  readonly timeoutMs?: number;
}
