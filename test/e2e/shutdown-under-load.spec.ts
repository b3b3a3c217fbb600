/** SIGTERM under load. Every request that has reached a backend is answered, counted and written. */
import { afterEach, expect, it } from '@jest/globals';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startBackend, type Backend } from '../support/backend.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

const CLIENTS = 24;
const BACKEND_MS = 30;

let backend: Backend;
let gateway: RunningTrailgate;
afterEach(async () => {
  await gateway.stop();
  await backend.stop();
});

it('SIGTERM loses no request that reached the backend, counts each once, and exits with 0', async () => {
  backend = await startBackend((_request, response) => {
    setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'), BACKEND_MS);
  });
  // The flush interval is an hour, so only the shutdown can write the counts.
  gateway = await startTrailgate({ backend: backend.url, config: { usage: { flushInterval: '1h' } } });
  const { account, key } = await gateway.admin.newKey('pro');
  const url = `${gateway.gatewayUrl}/api/v1/customers`;
  const agent = new Agent({ keepAlive: true });
  const answered = new Set<string>();
  const otherAnswers: number[] = [];

  /** Sends requests until the gateway no longer accepts connections. */
  const client = async (name: number): Promise<void> => {
    for (let round = 0; ; round++) {
      const id = `c${name}-${round}`;
      try {
        const headers = { Authorization: `Bearer ${key.secret}`, 'X-Request-Id': id };
        const { status } = await send(url, { agent, headers });
        if (status === 200) answered.add(id);
        else otherAnswers.push(status);
      } catch {
        return;
      }
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, name) => client(name));
  await eventually('there is load', () => backend.requests.length > 10 * CLIENTS);
  const exit = await gateway.stop();
  await Promise.all(clients);
  agent.destroy();

  expect(exit).toEqual({ code: 0, signal: null });
  expect(otherAnswers.filter((status) => status !== 503)).toEqual([]);
  const reached = backend.requests.map(({ headers }) => String(headers['x-request-id']));
  expect(reached.filter((id) => !answered.has(id))).toEqual([]);
  const database = new DatabaseSync(join(gateway.dataDir, 'trailgate.db'), { readOnly: true, timeout: 30_000 });
  const count = database.prepare("select used from quota_counter where account_id = ? and api_key_id = ''");
  expect(count.get(account.id)).toEqual({ used: reached.length });
  database.close();
  expect(gateway.stderr).toEqual([]);
});
