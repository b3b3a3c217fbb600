/**
 * Callers learn when to retry. Retries come not before they can help, not all at the same moment, and not automatically
 * if they could repeat an effect.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import type { Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { eventually, freePort } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const CHECK_INTERVAL_S = 40;

let gateway: Proxied;
let sick: Backend;

beforeAll(async () => {
  sick = await startBackend((_request, response) => void response.writeHead(503).end());
  const retries = { most: 0 };
  gateway = await startProxied({
    config: {
      services: {
        backend: { timeouts: { firstByte: '300ms' }, retries },
        nowhere: { targets: [`http://127.0.0.1:${await freePort()}`], retries },
        unhealthy: {
          targets: [sick.url],
          health: { path: '/', interval: `${CHECK_INTERVAL_S}s`, healthyAfter: 1, unhealthyAfter: 1 },
        },
        ejected: { targets: [sick.url], ejection: { failures: 2 } },
      },
      operations: [
        ...['GET', 'PATCH', 'DELETE'].map((method) => ({ match: `${method} /any`, service: 'backend', scopes: [] })),
        { match: 'POST /nowhere', service: 'nowhere', scopes: [] },
        { match: 'POST /unhealthy', service: 'unhealthy', scopes: [] },
        { match: 'GET /ejected', service: 'ejected', scopes: [] },
      ],
      plans: { unlimited: { account: { month: 100_000 } } },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await sick.stop();
});

const retryFields = ({ headers }: Answer): [string | undefined, string | undefined] => [
  headers['retry-after'],
  headers['x-should-retry'] as string | undefined,
];

/** Sends concurrent requests, expects 503 for each, and returns their Retry-After values. */
async function refusalsOf(path: string, method: string, count: number): Promise<number[]> {
  const refused = await Promise.all(Array.from({ length: count }, () => gateway.send(path, { method })));
  return refused.map((answer) => {
    expectProblem(answer, 'backend_unavailable');
    const [seconds = '', shouldRetry] = retryFields(answer);
    expect([seconds, shouldRetry]).toEqual([expect.stringMatching(/^[1-9]\d*$/), 'true']);
    return Number(seconds);
  });
}

describe('Retry-After of a 503 without a backend call', () => {
  it('is not before the next health check, and differs between responses', async () => {
    const beganMs = performance.now();
    await eventually(
      'the target is out of service',
      async () => (await gateway.send('/unhealthy', { method: 'POST' })).status === 503,
    );
    const seconds = await refusalsOf('/unhealthy', 'POST', 40);
    // A check comes up to a tenth of its interval early.
    const elapsedS = (performance.now() - beganMs) / 1_000;
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(Math.floor(0.9 * CHECK_INTERVAL_S - elapsedS));
    expect(Math.max(...seconds)).toBeLessThanOrEqual(1.25 * CHECK_INTERVAL_S);
    expect(new Set(seconds).size).toBeGreaterThan(3);
  });

  it('is 1 to 7 seconds for an ejected target, and differs between responses', async () => {
    await eventually('target_lost is logged', () =>
      gateway.trailgate.logs().some(({ event, service }) => event === 'target_lost' && service === 'ejected')
        ? true
        : gateway.send('/ejected').then(() => false),
    );
    // One request may be let through as a trial request.
    await gateway.send('/ejected');
    const seconds = await Promise.all(Array.from({ length: 40 }, () => gateway.send('/ejected')));
    const values = seconds.map((answer) => retryFields(answer)[0]).filter((value) => value !== undefined);
    expect(values.length).toBeGreaterThanOrEqual(38);
    expect(new Set(values).size).toBeGreaterThan(1);
    for (const value of values) expect(value).toMatch(/^[1-7]$/);
  });
});

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

const hangs: Handler = () => undefined;
const resets: Handler = (request) => request.socket.resetAndDestroy();
const respondsWith =
  (status: number): Handler =>
  (_request, response) =>
    response.writeHead(status).end();

describe('X-Should-Retry', () => {
  it.each<[string, string, number, Handler]>([
    ['POST', '/customers', 504, hangs],
    ['PATCH', '/any', 504, hangs],
    ['POST', '/customers', 502, resets],
    ['PATCH', '/any', 502, resets],
    ['POST', '/customers', 500, respondsWith(500)],
    ['POST', '/customers', 502, respondsWith(502)],
    ['POST', '/customers', 502, respondsWith(501)],
    ['POST', '/customers', 504, respondsWith(504)],
  ])('is false for %s %s that ended in %i and may have had its effect', async (method, path, status, handler) => {
    gateway.answerWith(handler);
    const answer = await gateway.send(path, { method, body: '{}' });
    expect([answer.status, ...retryFields(answer)]).toEqual([status, undefined, 'false']);
  });

  it('is absent for a POST that reached no backend', async () => {
    const answer = await gateway.send('/nowhere', { method: 'POST', body: '{}' });
    expectProblem(answer, 'backend_unreachable');
    expect(retryFields(answer)).toEqual([undefined, undefined]);
  });

  it.each<[string, string, number, Handler]>([
    ['GET', '/any', 504, hangs],
    ['GET', '/any', 502, resets],
    ['GET', '/any', 500, respondsWith(500)],
    ['DELETE', '/any', 504, hangs],
    ['POST', '/customers', 503, respondsWith(503)],
    ['POST', '/customers', 422, respondsWith(422)],
    ['POST', '/customers', 409, respondsWith(409)],
  ])('is absent for %s %s that ended in %i and may be sent again', async (method, path, status, handler) => {
    gateway.answerWith(handler);
    const answer = await gateway.send(path, { method, ...(method === 'POST' ? { body: '{}' } : {}) });
    expect([answer.status, ...retryFields(answer)]).toEqual([status, undefined, undefined]);
  });
});
