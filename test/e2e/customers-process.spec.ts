/** The process of the customers backend: start, shutdown and error messages. */
import { afterAll, describe, expect, it } from '@jest/globals';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isAlive } from '../support/child-processes.js';
import { CustomersClient } from '../support/customers-client.js';
import { failToStart, startCustomers } from '../support/customers.js';
import { eventually, freePort, spawnOwned, temporaryFolder } from '../support/processes.js';

const folder = temporaryFolder('customers-process');
const env = { CUSTOMERS_DATA_DIR: join(folder, 'data') };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the customers process', () => {
  it('prints its URL, and nothing else, to standard output', async () => {
    const port = await freePort();
    const backend = await startCustomers({ ...env, TRAILGATE_CUSTOMERS_PORT: `${port}`, LOG_LEVEL: 'debug' });
    await new CustomersClient(backend.url, 'acc_a').get('/customers');
    await eventually('the request is logged', () => backend.stderr.some((line) => line.includes('"status":200')));
    expect(backend.stdout).toEqual([`{"event":"listening","url":"http://127.0.0.1:${port}"}`]);
    expect(await backend.stop()).toEqual({ code: 0, signal: null });
  });

  it('logs neither queries nor bodies, because they have personal data', async () => {
    const backend = await startCustomers({ ...env, LOG_LEVEL: 'trace' });
    const client = new CustomersClient(backend.url, 'acc_a');
    await client.get('/customers?search=privatename');
    await client.create('private@address', { notes: 'privatename' });
    await backend.stop();
    expect(backend.stderr.length).toBeGreaterThan(0);
    expect(backend.stderr.join('\n')).not.toMatch(/privatename|private@address/);
  });

  it('answers or refuses requests in flight on SIGTERM, and closes its database', async () => {
    const backend = await startCustomers({ ...env, CUSTOMERS_SEED_ACCOUNTS: 'acc_term' });
    const client = new CustomersClient(backend.url, 'acc_term');
    await client.get('/customers?limit=1');
    const inFlight = Array.from({ length: 10 }, () => client.get('/customers?limit=100'));
    const [answers, exit] = [Promise.allSettled(inFlight), backend.stop()];
    expect(await exit).toEqual({ code: 0, signal: null });
    for (const answer of await answers) {
      // A 503 and a refused connection are both fine. A partial response is not.
      const outcome = answer.status === 'fulfilled' ? answer.value.status : 'not connected';
      expect([200, 503, 'not connected']).toContain(outcome);
    }
    expect(readdirSync(env.CUSTOMERS_DATA_DIR)).toEqual(['customers.db']);
  });

  it('ends when the process that forked it with an IPC channel is killed', async () => {
    const parent = `
      const { fork } = require('node:child_process');
      const child = fork('dist/customers/main.js', { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
      child.stdout.on('data', (text) => console.log(JSON.stringify({ pid: child.pid, url: JSON.parse(text).url })));`;
    const started = spawnOwned(process.execPath, ['-e', parent], {
      env: { ...env, PATH: process.env['PATH'] ?? '', TRAILGATE_CUSTOMERS_PORT: '0' },
    });
    const line = await new Promise<string>((done) =>
      started.child.stdout?.once('data', (chunk) => done(String(chunk))),
    );
    const { url, pid } = JSON.parse(line) as { url: string; pid: number };
    expect((await fetch(`${url}/health`)).status).toBe(200);
    await started.end('SIGKILL');
    await eventually('the orphan has ended', () => !isAlive(pid));
  });
});

describe('a failed start', () => {
  it('reports the port that is in use', async () => {
    const backend = await startCustomers(env);
    const { port } = new URL(backend.url);
    const failed = await failToStart({ ...env, TRAILGATE_CUSTOMERS_PORT: port });
    await backend.stop();
    expect(failed).toEqual({
      code: 1,
      stdout: '',
      stderr: `customers: port ${port} on 127.0.0.1 is in use. Stop the program that uses it, or set TRAILGATE_CUSTOMERS_PORT to a free port.`,
    });
  });

  it('reports the folder that cannot be written', async () => {
    const file = join(folder, 'a-file');
    writeFileSync(file, '');
    const { code, stderr } = await failToStart({ CUSTOMERS_DATA_DIR: join(file, 'data') });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^customers: cannot open the database file .*a-file\/data\/customers\.db .* set CUSTOMERS_DATA_DIR to one that is\.$/,
    );
  });

  it('reports a file that is not a database', async () => {
    const data = temporaryFolder('not-a-database');
    writeFileSync(join(data, 'customers.db'), 'These are my notes.'.repeat(100));
    const { code, stderr } = await failToStart({ CUSTOMERS_DATA_DIR: data });
    rmSync(data, { recursive: true });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^customers: cannot open the database file .*customers\.db \(file is not a database\)/);
  });

  it('reports a database that a newer version wrote', async () => {
    const data = temporaryFolder('newer');
    await (await startCustomers({ CUSTOMERS_DATA_DIR: data })).stop();
    const direct = new DatabaseSync(join(data, 'customers.db'));
    direct.exec(`insert into migration (name, applied_at) values ('9999_future', 0)`);
    direct.close();
    const { code, stderr } = await failToStart({ CUSTOMERS_DATA_DIR: data });
    rmSync(data, { recursive: true });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^customers: the database .* was written by a newer version of this program \(9999_future\)\. Start that version/,
    );
  });

  it('reports every invalid variable in one line', async () => {
    const { code, stderr } = await failToStart({ ...env, TRAILGATE_CUSTOMERS_PORT: 'http', LOG_LEVEL: 'loud' });
    expect(code).toBe(1);
    expect(stderr).toBe(
      'customers: TRAILGATE_CUSTOMERS_PORT must be a port number from 0 to 65535; LOG_LEVEL must be one of trace, debug, info, warn, error, silent',
    );
  });
});
