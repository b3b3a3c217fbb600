/**
 * Signals during the start. SIGTERM stops the program cleanly, whatever it was opening. SIGHUP neither stops it nor is
 * lost, and a changed file is read without it. Covers workers, too.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { AdminClient } from '../support/admin.js';
import { startBackend, json, type Backend } from '../support/backend.js';
import { childrenOf, isAlive } from '../support/child-processes.js';
import { describeUnless, describeWithRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { eventually, freePort, sleep, spawnOwned, temporaryFolder, type OwnedProcess } from '../support/processes.js';
import { COMPILED } from '../support/program.js';
import { writeConfig } from '../support/program-config.js';
import { sharedRedisUrl } from '../support/redis.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

const MAIN = resolve('dist/main.js');
const ADMIN_TOKEN = 'test-admin-start-signals-0123456789';
/** Maximum time of a clean exit without running requests on a busy machine, in milliseconds. */
const PROMPT_MS = 3_000;
/** Number of parts of the start. The start is interrupted once in each part, at a random moment. */
const MOMENTS = 4;

/** Program that may still be starting. */
interface Starting extends OwnedProcess {
  readonly folder: string;
  readonly configPath: string;
  lines(): string[];
  errors(): string;
  event(name: string): Record<string, unknown> | undefined;
}

const programs: Starting[] = [];
const others: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];

afterEach(async () => {
  for (const program of programs.splice(0)) if (program.isRunning()) await program.end('SIGKILL');
  for (const { close, stop } of others.splice(0)) await (close ?? stop)?.();
});

function spawnProgram(
  env: Record<string, string> = {},
  options: { args?: readonly string[]; folder?: string; targets?: readonly string[]; command?: string } = {},
): Starting {
  const { args = [], folder = temporaryFolder('start-signals'), targets = ['http://127.0.0.1:9'] } = options;
  const configPath = join(folder, 'gateway.yaml');
  if (!existsSync(configPath)) writeConfig(folder, { targets });
  const environment = {
    PATH: process.env['PATH'] ?? '',
    NODE_COMPILE_CACHE: COMPILED,
    TRAILGATE_DATA_DIR: join(folder, 'data'),
    TRAILGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    ...env,
  };
  const program = spawnOwned(process.execPath, [MAIN, options.command ?? 'start', '--config', configPath, ...args], {
    env: environment,
  });
  const out: string[] = [];
  const errors: string[] = [];
  program.child.stdout?.on('data', (chunk) => out.push(String(chunk)));
  program.child.stderr?.on('data', (chunk) => errors.push(String(chunk)));
  const lines = () => out.join('').split('\n').filter(Boolean);
  const events = () =>
    lines()
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const starting: Starting = {
    ...program,
    folder,
    configPath,
    lines,
    errors: () => errors.join(''),
    event: (name) => events().find(({ event }) => event === name),
  };
  programs.push(starting);
  return starting;
}

/** Reports whether the process has a handler for a signal (Linux). */
function catches(pid: number, signal: number): boolean {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mask = BigInt(`0x${/SigCgt:\s*(\w+)/.exec(status)?.[1] ?? '0'}`);
  return ((mask >> BigInt(signal - 1)) & 1n) === 1n;
}

/** Waits until a program handles signals. Checks SIGHUP, for which Node itself has no handler. */
const waitForHandlers = ({ pid }: Starting): Promise<void> =>
  eventually('the program handles signals', () => catches(pid, 1));

/** Sends the signal, and expects a clean and prompt exit without output on stderr. */
async function expectCleanExit(program: Starting, signal: NodeJS.Signals): Promise<void> {
  const startedMs = performance.now();
  expect(await program.end(signal)).toEqual({ code: 0, signal: null });
  expect(quietMsSince(startedMs)).toBeLessThan(PROMPT_MS);
  expect(program.errors()).toBe('');
}

const isRunning = (program: Starting): Promise<void> =>
  eventually('the program listens', () => program.lines().some((line) => line.includes('"role":"gateway"')), 20_000);

function addOperation({ configPath }: Starting): void {
  const config = parse(readFileSync(configPath, 'utf8')) as { operations: unknown[] };
  config.operations.push({ match: 'GET /new', service: 'backend', scopes: [] });
  writeFileSync(configPath, stringify(config));
}

async function statusOfNew(program: Starting): Promise<() => Promise<number>> {
  const urlOf = (role: string): string =>
    program
      .lines()
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find((line) => line['event'] === 'listening' && line['role'] === role)?.['url'] as string;
  const { secret } = (await new AdminClient(urlOf('admin'), ADMIN_TOKEN).newKey()).key;
  return async () =>
    (await send(`${urlOf('gateway')}/api/v1/new`, { headers: { authorization: `Bearer ${secret}` } })).status;
}

describeUnless(process.platform === 'linux' ? null : 'needs Linux')('at any moment of the start', () => {
  it('SIGTERM and SIGINT stop the program cleanly, and it can be started again', async () => {
    const folder = temporaryFolder('start-signals');
    const first = spawnProgram({}, { folder });
    await waitForHandlers(first);
    const heardMs = performance.now();
    await isRunning(first);
    const startMs = performance.now() - heardMs;
    await expectCleanExit(first, 'SIGTERM');
    for (let part = 0; part < MOMENTS; part++) {
      const program = spawnProgram({}, { folder });
      await waitForHandlers(program);
      await sleep((startMs * (part + Math.random())) / MOMENTS);
      await expectCleanExit(program, part % 2 === 0 ? 'SIGTERM' : 'SIGINT');
    }
    const last = spawnProgram({}, { folder });
    await isRunning(last);
    await expectCleanExit(last, 'SIGTERM');
  });

  it('SIGHUP does not stop the program, and makes it read its configuration again', async () => {
    const program = spawnProgram();
    await waitForHandlers(program);
    while (!program.lines().some((line) => line.includes('"role":"gateway"'))) {
      program.child.kill('SIGHUP');
      await sleep(5);
      if (!program.isRunning()) throw new Error(`the program has ended: ${JSON.stringify(await program.exited)}`);
    }
    await eventually('config_changed is logged', () => program.event('config_changed') !== undefined);
    await expectCleanExit(program, 'SIGTERM');
  });

  it('SIGTERM to the demo leaves no backend process behind', async () => {
    for (const pauseMs of [300, 900]) {
      const ports = ['GATEWAY', 'ADMIN', 'CUSTOMERS'].map(async (role) => [
        `TRAILGATE_${role}_PORT`,
        `${await freePort()}`,
      ]);
      const program = spawnProgram(Object.fromEntries(await Promise.all(ports)), { command: 'demo' });
      await waitForHandlers(program);
      await sleep(pauseMs);
      const children = childrenOf(program.pid);
      await expectCleanExit(program, 'SIGTERM');
      await eventually('the child processes have ended', () => !children.some(isAlive), PROMPT_MS);
    }
  });
});

describeWithRedis('while Redis keeps the start waiting', () => {
  let proxy: TcpProxy;
  let backend: Backend;
  let env: Record<string, string>;

  async function behindProxy(): Promise<void> {
    const url = new URL(await sharedRedisUrl());
    proxy = await startTcpProxy(Number(url.port || 6379));
    backend = await startBackend(json({ ok: true }));
    others.push(proxy, backend);
    url.port = String(proxy.port);
    url.hostname = '127.0.0.1';
    env = { REDIS_URL: url.href };
  }

  it('SIGTERM stops the program without waiting for Redis', async () => {
    await behindProxy();
    proxy.holdAnswers();
    const program = spawnProgram(env);
    await eventually('the program connects to Redis', () => proxy.accepted > 0);
    await sleep(100);
    await expectCleanExit(program, 'SIGTERM');
    // The start opens Redis before the database, so nothing was migrated.
    expect(program.event('migrated')).toBeUndefined();
  });

  it.each([
    ['SIGHUP', true],
    ['a changed file', false],
  ])('%s takes effect as soon as the program runs', async (_what, isSaid) => {
    await behindProxy();
    proxy.holdAnswers();
    const program = spawnProgram(env, { targets: [backend.url] });
    await eventually('the program connects to Redis', () => proxy.accepted > 0);
    addOperation(program);
    if (isSaid) program.child.kill('SIGHUP');
    // The file watcher notices a change within two seconds.
    await sleep(isSaid ? 100 : 2_000);
    proxy.release();
    await isRunning(program);
    const status = await statusOfNew(program);
    await eventually('the configuration is applied', async () => (await status()) === 200, PROMPT_MS);
    await expectCleanExit(program, 'SIGTERM');
  });

  it('SIGTERM ends workers that have not started yet', async () => {
    await behindProxy();
    const program = spawnProgram(env, { args: ['--workers', '3'] });
    await eventually('a worker is started', () => childrenOf(program.pid).length > 0);
    proxy.holdAnswers();
    const workers = childrenOf(program.pid);
    await sleep(700);
    await expectCleanExit(program, 'SIGTERM');
    expect(workers.filter(isAlive)).toEqual([]);
    expect(program.lines().filter((line) => line.includes('"event":"listening","role":"gateway"'))).toEqual([]);
  });

  it('SIGHUP reaches workers that have not started yet', async () => {
    await behindProxy();
    const program = spawnProgram(env, { args: ['--workers', '2'], targets: [backend.url] });
    await eventually('a worker is started', () => childrenOf(program.pid).length > 0);
    proxy.holdAnswers();
    await sleep(700);
    addOperation(program);
    program.child.kill('SIGHUP');
    await sleep(100);
    proxy.release();
    await isRunning(program);
    const status = await statusOfNew(program);
    const all = async () => Promise.all(Array.from({ length: 20 }, status));
    await eventually(
      'each worker has applied the configuration',
      async () => (await all()).every((each) => each === 200),
      PROMPT_MS,
    );
    await expectCleanExit(program, 'SIGTERM');
  });
});
