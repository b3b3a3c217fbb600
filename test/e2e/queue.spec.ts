/** Limits on backend connections, on the length and duration of the queue for them, and on the share of one account. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { quietMsSince } from '../support/machine-time.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import { openRequest, send, type Answer, type SendOptions } from '../support/http.js';

const FIRST_BYTE_MS = 1_500;

let gateway: Proxied;
let held: ServerResponse[];
/** Authorization field with a key of another account. */
let other: string;

beforeAll(async () => {
  gateway = await startProxied({
    backendOptions: { atOnce: true },
    config: {
      services: {
        backend: {
          connections: 8,
          queue: 4,
          timeouts: { connect: '500ms', firstByte: `${FIRST_BYTE_MS}ms`, idle: '20s' },
        },
      },
      plans: { unlimited: { account: { month: 10_000 } } },
    },
  });
  other = `Bearer ${(await gateway.trailgate.admin.newKey()).key.secret}`;
});
afterAll(() => gateway.stop());
beforeEach(() => {
  held = [];
  gateway.answerWith((_request, response) => void held.push(response));
});
afterEach(async () => {
  for (const response of held) response.end();
});

const sendAsOther = (path: string, options: SendOptions = {}): Promise<Answer> =>
  send(gateway.url + path, { ...options, headers: { Authorization: other } });

async function used(): Promise<number> {
  const { windows } = (await gateway.send('/usage')).json<{ windows: { used: number }[] }>();
  return windows[0]?.used ?? NaN;
}

async function timed<T>(work: Promise<T>): Promise<[T, number, number]> {
  const startedMs = performance.now();
  const result = await work;
  return [result, performance.now() - startedMs, quietMsSince(startedMs)];
}

const requestLines = () => gateway.trailgate.logs().filter(({ event }) => event === 'request');

describe('one account', () => {
  /** Starts uploads that send one byte and never end. `end(from)` aborts the uploads from that index on. */
  function slowUploads(count: number): { end(from?: number): void } {
    const requests = Array.from({ length: count }, () => {
      const request = openRequest(`${gateway.url}/files/slow`, {
        method: 'PUT',
        headers: { Authorization: gateway.authorization, 'Transfer-Encoding': 'chunked' },
      });
      request.on('error', () => {});
      request.on('response', (response) => void response.resume());
      request.write('x');
      return request;
    });
    return { end: (from = 0) => void requests.splice(from).forEach((request) => request.destroy()) };
  }

  it('occupies at most half of the connections with slow uploads, and another account is still served', async () => {
    const uploads = slowUploads(20);
    await eventually('the share of the account is in use', () => gateway.backend.requests.length === 4);
    for (let index = 0; index < 20; index++) {
      const answer = sendAsOther('/open');
      await eventually('the request arrives', () => gateway.backend.requests.some(({ url }) => url === '/open'));
      held.pop()?.end('fine');
      gateway.backend.requests.pop();
      expect((await answer).text).toBe('fine');
    }
    expect(gateway.backend.requests).toHaveLength(4);
    uploads.end();
    await eventually('the uploads are aborted', () => gateway.backend.requests.every(({ aborted }) => aborted));
  });

  it('gets 429 without delay and without quota cost when its share of the queue is also full', async () => {
    const uploadsOver = () => requestLines().filter(({ method }) => method === 'PUT').length;
    await eventually('the uploads of the previous test have ended', () => uploadsOver() === 20);
    const before = await used();
    const uploads = slowUploads(6);
    await eventually('the share of the account is in use', () => gateway.backend.requests.length === 4);
    const [refused, , quietMs] = await timed(gateway.send('/open'));
    expectProblem(refused, 'too_many_concurrent_requests');
    expect(refused.headers['retry-after']).toMatch(/^[1-3]$/);
    expect(quietMs).toBeLessThan(FIRST_BYTE_MS);
    // Ends the queued uploads first. They would be sent as soon as the others free their connections.
    uploads.end(4);
    await eventually('no request is queued', () => uploadsOver() === 22);
    uploads.end();
    // The four uploads that reached the backend count. The two queued ones and the refused request do not.
    await eventually('all uploads have ended', () => uploadsOver() === 26);
    await eventually('only the four uploads are counted', async () => (await used()) === before + 4);
  });

  it('waits for a free connection of its share no longer than the first-byte timeout, then gets 429', async () => {
    const uploads = slowUploads(4);
    await eventually('the share of the account is in use', () => gateway.backend.requests.length === 4);
    const [refused, durationMs, quietMs] = await timed(gateway.send('/open'));
    expectProblem(refused, 'too_many_concurrent_requests');
    expect(durationMs).toBeGreaterThanOrEqual(FIRST_BYTE_MS);
    expect(quietMs).toBeLessThan(FIRST_BYTE_MS + 2_000);
    expect(gateway.backend.requests.every(({ method }) => method === 'PUT')).toBe(true);
    uploads.end();
  });

  it('has its queued request sent after its earlier requests have ended', async () => {
    const first = Array.from({ length: 4 }, () => gateway.send('/open'));
    await eventually('the share of the account is in use', () => held.length === 4);
    const waiting = gateway.send('/open?waiting');
    for (const response of held) response.end('done');
    await Promise.all(first);
    await eventually('the queued request is sent', () =>
      gateway.backend.requests.some(({ url }) => url === '/open?waiting'),
    );
    held.at(-1)?.end('late');
    expect((await waiting).text).toBe('late');
  });
});

describe('a service whose connections are all in use', () => {
  let full: Proxied;
  beforeAll(async () => {
    full = await startProxied({
      config: {
        services: {
          backend: {
            connections: 1,
            queue: 2,
            accountShare: 1,
            timeouts: { connect: '500ms', firstByte: `${FIRST_BYTE_MS}ms` },
          },
        },
        plans: { unlimited: { account: { month: 10_000 } } },
      },
    });
  });
  afterAll(() => full.stop());

  it('queues as many requests as configured, and refuses the next with 503 at once and at no cost', async () => {
    const answers: ServerResponse[] = [];
    full.answerWith((_request, response) => void answers.push(response));
    const first = full.send('/open?1');
    await eventually('the only connection is in use', () => full.backend.requests.length === 1);
    const waiting = [full.send('/open?2'), full.send('/open?3')];
    await eventually('two requests are queued', async () => {
      const { text } = await send(`${full.trailgate.adminUrl}/metrics`);
      return text.includes('trailgate_upstream_waiting_requests{service="backend"} 2');
    });
    const [refused, , quietMs] = await timed(full.send('/open?4'));
    expectProblem(refused, 'backend_unavailable');
    expect(refused.headers['retry-after']).toMatch(/^[1-3]$/);
    expect(refused.json().detail).toContain('is at capacity');
    expect(quietMs).toBeLessThan(FIRST_BYTE_MS / 2);
    for (let index = 0; index < 3; index++) {
      await eventually('the next request is sent', () => answers.length === index + 1);
      answers[index]?.end('ok');
    }
    expect((await Promise.all([first, ...waiting])).map(({ status }) => status)).toEqual([200, 200, 200]);
    // The requests arrive in order, without the refused one.
    expect(full.backend.requests.map(({ url }) => url)).toEqual(['/open?1', '/open?2', '/open?3']);
    const { windows } = (await full.send('/usage')).json<{ windows: { used: number }[] }>();
    expect(windows[0]?.used).toBe(3);
  });

  it('refuses a queued request with 503 after the first-byte timeout, and never sends it to the backend', async () => {
    full.answerWith((request, response) => {
      response.writeHead(200).write('endless');
      request.on('close', () => response.end());
    });
    const { request } = await full.exchange('/open?holder');
    const [refused, durationMs, quietMs] = await timed(full.send('/open?waiting'));
    expectProblem(refused, 'backend_unavailable');
    expect(durationMs).toBeGreaterThanOrEqual(FIRST_BYTE_MS);
    expect(quietMs).toBeLessThan(FIRST_BYTE_MS + 2_000);
    request.destroy();
    expect(full.backend.requests.map(({ url }) => url)).toEqual(['/open?holder']);
  });
});
