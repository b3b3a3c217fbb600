/**
 * Readers of the log can exit, stop or return. The gateway continues, a new reader gets lines again, and the gateway
 * counts every lost line.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { resolve } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually, freePort, sleep, spawnOwned, temporaryFolder, type OwnedProcess } from '../support/processes.js';
import { writeConfig } from '../support/program-config.js';

const LINE = /"path":"\/api\/v1\/(\d+)"/;

let gateway: OwnedProcess | undefined;
let gatewayUrl: string;
let adminUrl: string;
let stderr: string;
afterEach(async () => {
  if (gateway?.isRunning() === true) await gateway.end('SIGKILL');
});

/** Starts the program with a file descriptor or a pipe as its standard output. */
async function start(stdout: number | 'pipe'): Promise<OwnedProcess> {
  const folder = temporaryFolder('log-readers');
  const [port, adminPort] = [await freePort(), await freePort()];
  [gatewayUrl, adminUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${adminPort}`];
  stderr = '';
  gateway = spawnOwned(
    process.execPath,
    [resolve('dist/main.js'), 'start', '--config', writeConfig(folder, { targets: ['http://127.0.0.1:9'] })],
    {
      stdio: ['ignore', stdout, 'pipe'],
      env: {
        PATH: process.env['PATH'] ?? '',
        TRAILGATE_DATA_DIR: `${folder}/data`,
        TRAILGATE_GATEWAY_PORT: String(port),
        TRAILGATE_ADMIN_PORT: String(adminPort),
      },
    },
  );
  gateway.child.stderr?.on('data', (text) => (stderr += text));
  await eventually('the program is ready', () =>
    readiness().then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  return gateway;
}

async function readiness(): Promise<{ status: number; log: { status: string; detail?: string } }> {
  const answer = await send(`${adminUrl}/readyz`);
  return { status: answer.status, log: answer.json<{ checks: { log: { status: string } } }>().checks.log };
}

/** Sends a request for each number from `from` up to `to` (exclusive). Its log line contains the number. */
async function request(from: number, to: number): Promise<void> {
  for (let number = from; number < to; number++) {
    expect((await send(`${gatewayUrl}/api/v1/${number}`)).status).toBe(404);
  }
}

async function metric(name: string): Promise<number> {
  return seriesOf((await send(`${adminUrl}/metrics`)).text).get(name) ?? NaN;
}

/** Named pipe whose reader can be replaced. */
class Fifo {
  readonly path = `${temporaryFolder('fifo')}/log`;
  /** Request numbers of all lines that any reader has received, in order. */
  readonly numbers: number[] = [];
  readonly events: Record<string, unknown>[] = [];
  reader: OwnedProcess | undefined;

  constructor() {
    execFileSync('mkfifo', [this.path]);
  }

  read(): void {
    this.reader = spawnOwned('cat', [this.path]);
    createInterface({ input: this.reader.child.stdout! }).on('line', (line) => {
      this.events.push(JSON.parse(line) as Record<string, unknown>);
      const [, number] = LINE.exec(line) ?? [];
      if (number !== undefined) this.numbers.push(Number(number));
    });
  }

  async leave(): Promise<void> {
    await this.reader?.end('SIGKILL');
    this.reader = undefined;
  }

  /** Starts the program with the pipe as its standard output. Blocks until the pipe has a reader. */
  async startProgram(): Promise<OwnedProcess> {
    const fd = openSync(this.path, constants.O_WRONLY);
    try {
      return await start(fd);
    } finally {
      closeSync(fd);
    }
  }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

describe('a log that goes to a named pipe', () => {
  it('gives a new reader every line written since the previous reader left', async () => {
    const fifo = new Fifo();
    fifo.read();
    await fifo.startProgram();
    expect((await readiness()).log).toEqual({ status: 'pass' });
    await request(0, 20);
    await eventually('the reader has 20 lines', () => fifo.numbers.length === 20);
    await fifo.leave();
    await request(20, 60);
    await eventually('/readyz reports the lost reader', async () => (await readiness()).log.status === 'warn');
    expect(await readiness()).toMatchObject({
      status: 200,
      log: { detail: expect.stringMatching(/^the log cannot be written since .* \(EPIPE\): its lines wait/) },
    });
    expect(await metric('trailgate_log_up')).toBe(0);
    expect(stderr).toMatch(/^trailgate: the log cannot be written \(EPIPE\)/m);
    fifo.read();
    await eventually('the new reader has all lines', () => fifo.numbers.length === 60);
    await request(60, 70);
    await eventually('the new reader has later lines', () => fifo.numbers.length === 70);
    expect(fifo.numbers).toEqual(upTo(70));
    await eventually('log_back is logged', () => fifo.events.some(({ event }) => event === 'log_back'));
    expect(fifo.events.find(({ event }) => event === 'log_back')).toMatchObject({ cause: 'EPIPE', lines: 0 });
    expect((await readiness()).log).toEqual({ status: 'pass' });
    expect(await metric('trailgate_log_up')).toBe(1);
    expect(await metric('trailgate_log_lines_dropped_total')).toBe(0);
    expect((await gateway!.end('SIGTERM')).code).toBe(0);
    await fifo.leave();
  }, 60_000);

  it('does not keep the process from shutting down while its reader is suspended', async () => {
    const fifo = new Fifo();
    fifo.read();
    const program = await fifo.startProgram();
    process.kill(fifo.reader!.pid, 'SIGSTOP');
    // Logs more lines than the pipe and its reader can buffer.
    await Promise.all(Array.from({ length: 30 }, (_, part) => request(part * 50, part * 50 + 50)));
    expect((await program.end('SIGTERM')).code).toBe(0);
    await fifo.leave();
  }, 60_000);
});

it('each line of a log whose reader is gone for good is counted; metrics, /readyz and stderr report it', async () => {
  const program = await start('pipe');
  // Reads what has been logged so far, and closes the pipe.
  program.child.stdout!.resume();
  await sleep(500);
  program.child.stdout!.destroy();
  await request(0, 25);
  const dropped = (): Promise<number> => metric('trailgate_log_lines_dropped_total');
  await eventually('the lines are counted as dropped', async () => (await dropped()) >= 25);
  await request(25, 40);
  await eventually('later lines are counted as dropped', async () => (await dropped()) >= 40);
  await sleep(300);
  // Each lost line counts once. The program may log a few lines of its own meanwhile.
  expect(await dropped()).toBeLessThan(45);
  expect(await metric('trailgate_log_up')).toBe(0);
  expect((await readiness()).log.detail).toMatch(/\(EPIPE\): its lines are dropped and counted$/);
  expect(stderr.match(/^trailgate: the reader of the log is gone/gm)).toHaveLength(1);
  expect((await program.end('SIGTERM')).code).toBe(0);
}, 60_000);

it('a command whose output pipe is closed exits with 141 and prints no error', () => {
  const command = '{ "$0" "$1" schema; echo "code $?" >&2; } | true';
  const { stderr } = spawnSync('sh', ['-c', command, process.execPath, resolve('dist/main.js')], { encoding: 'utf8' });
  expect(stderr).toBe('code 141\n');
});
