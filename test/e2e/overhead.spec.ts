/** The gateway measures its own share of the request time, without the time of backends and clients. */
import { createConnection } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually, sleep } from '../support/processes.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const BACKEND_MS = 700;
const LARGE_BYTES = 48 * 1024 * 1024;

let backend: Backend;
let trailgate: SharedTrailgate;
let secret: string;
let isLargeSent = false;

beforeAll(async () => {
  backend = await startBackend((request, response) => {
    const { url = '' } = request;
    if (url === '/files/large') response.end(Buffer.alloc(LARGE_BYTES), () => (isLargeSent = true));
    else if (url === '/files/cut') request.socket.destroy();
    else setTimeout(() => response.end('{}'), BACKEND_MS);
  });
  trailgate = await acquireTrailgate({
    backend: backend.url,
    config: {
      services: { one: { targets: [backend.url], connections: 1, accountShare: 1 } },
      operations: [{ match: 'GET /one', service: 'one', scopes: [] }],
    },
  });
  ({ secret } = (await trailgate.admin.newKey('unlimited')).key);
});
afterAll(async () => {
  await trailgate.stop();
  await backend.stop();
});

const ask = (path: string, method = 'GET') =>
  send(`${trailgate.gatewayUrl}/api/v1${path}`, { method, headers: { authorization: `Bearer ${secret}` } });

interface Times {
  readonly count: number;
  /** Sums of durations, in seconds. */
  readonly overhead: number;
  readonly whole: number;
  readonly upstream: number;
}

async function times(): Promise<Times> {
  const series = seriesOf((await send(`${trailgate.adminUrl}/metrics`)).text);
  const sum = (pattern: RegExp) =>
    [...series].reduce((all, [name, value]) => all + (pattern.test(name) ? value : 0), 0);
  return {
    count: sum(/^trailgate_request_overhead_seconds_count/),
    overhead: sum(/^trailgate_request_overhead_seconds_sum/),
    whole: sum(/^http_server_request_duration_seconds_sum/),
    upstream: sum(/^trailgate_upstream_request_duration_seconds_sum/),
  };
}

/** Runs an action, and waits until `count` requests are counted. Returns the growth of the sums. */
async function growth(count: number, what: () => Promise<unknown>): Promise<Times> {
  const before = await times();
  await what();
  let after = before;
  await eventually('the requests are counted', async () => {
    after = await times();
    return after.count >= before.count + count;
  });
  return {
    count: after.count - before.count,
    overhead: after.overhead - before.overhead,
    whole: after.whole - before.whole,
    upstream: after.upstream - before.upstream,
  };
}

describe('the overhead of a request', () => {
  it('is its duration minus the time of the backend', async () => {
    const grown = await growth(3, () =>
      Promise.all([ask('/customers'), ask('/customers/1'), ask('/customers', 'POST')]),
    );
    expect(grown.count).toBe(3);
    expect(grown.upstream).toBeGreaterThan((3 * (BACKEND_MS - 5)) / 1_000);
    expect(grown.overhead).toBeGreaterThan(0);
    expect(grown.overhead).toBeCloseTo(grown.whole - grown.upstream, 6);
  });

  it('does not include the wait for a connection that another request uses', async () => {
    const grown = await growth(3, () => Promise.all([ask('/one'), ask('/one'), ask('/one')]));
    expect(grown.upstream).toBeGreaterThan((6 * (BACKEND_MS - 5)) / 1_000);
    expect(grown.overhead).toBeCloseTo(grown.whole - grown.upstream, 6);
  });

  it('does not include failed attempts, and is counted once', async () => {
    const grown = await growth(1, () => ask('/files/cut'));
    expect(grown.count).toBe(1);
    expect(grown.overhead).toBeCloseTo(grown.whole - grown.upstream, 6);
  });

  it('does not include the time that a client takes to read a streamed response', async () => {
    const waitedMs = 1_500;
    const grown = await growth(1, async () => {
      const { hostname, port } = new URL(trailgate.gatewayUrl);
      const client = createConnection({ host: hostname, port: Number(port) });
      client.write(
        `GET /api/v1/files/large HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
      );
      await once(client, 'readable');
      client.pause();
      await sleep(waitedMs);
      client.resume();
      await once(client, 'close');
      expect(isLargeSent).toBe(true);
    });
    expect(grown.count).toBe(1);
    expect(grown.whole).toBeGreaterThan((waitedMs - 5) / 1_000);
    expect(grown.overhead).toBeLessThan(grown.whole - 0.5);
  });

  it('is not measured for a refused request, which is not forwarded', async () => {
    const grown = await growth(0, async () => {
      expect((await send(`${trailgate.gatewayUrl}/api/v1/customers`)).status).toBe(401);
      expect((await ask('/nothing')).status).toBe(404);
      await sleep(50);
    });
    expect(grown.count).toBe(0);
  });
});
