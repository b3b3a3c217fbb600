/** Retries after failures of a target: safe requests only, within a budget, never after a byte of the response. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { startBackend, startRawBackend, type Backend, type RawBackend } from '../support/backend.js';
import { expectProblem } from '../support/problem.js';
import { freePort } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import { seriesOf } from '../support/metrics-text.js';
import { send } from '../support/http.js';

/** Number of retries that a service can make before it has had traffic. Equals `FIRST_RETRIES` in the source. */
const FIRST_RETRIES = 10;

/** Header fields that keep the test client from sending an empty body. Fastify requires a content type for QUERY. */
const BODYLESS = ['Content-Length', '0', 'Content-Type', 'text/plain'];

let gateway: Proxied;
let targets: [RawBackend, RawBackend];
/** First lines of the requests to both targets, in order of arrival. */
let arrivals: string[];
/** Index of the target that received each of them. */
let receivers: number[];
/** Handler of both targets. */
let answer: (socket: Socket) => unknown;
/** A target that reads whole requests. */
let reader: Backend;
/** The target that reads whole requests responds when this resolves. */
let readerIsFree = Promise.resolve();

/** Starts a target that handles a request when its head has arrived. */
async function startTarget(index: number): Promise<RawBackend> {
  return startRawBackend((socket) => {
    let head = '';
    socket.on('data', (bytes) => {
      head += bytes.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      arrivals.push(head.slice(0, head.indexOf(' HTTP/1.1')));
      receivers.push(index);
      head = '';
      answer(socket);
    });
  });
}

beforeAll(async () => {
  targets = [await startTarget(0), await startTarget(1)];
  reader = await startBackend(async (_request, response) => {
    await readerIsFree;
    response.end('ok');
  });
  const both = targets.map(({ url }) => url);
  // Disables ejection, so that every request meets the failure.
  const ejection = { failures: 0 };
  gateway = await startProxied({
    targets: both,
    config: {
      services: {
        backend: { ejection },
        stubborn: { targets: both, ejection, retries: { most: 0 } },
        half: { targets: [`http://127.0.0.1:${await freePort()}`, reader.url], ejection, retries: { budget: 1 } },
        budget: { targets: both, ejection },
        single: { targets: [both[0]] },
      },
      operations: [
        { match: 'GET /stubborn', service: 'stubborn', scopes: [] },
        { match: 'POST /half', service: 'half', scopes: [] },
        { match: 'GET /budget', service: 'budget', scopes: [] },
        { match: 'GET /single', service: 'single', scopes: [] },
        { match: 'POST /single', service: 'single', scopes: [] },
        ...['HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'QUERY'].map((method) => ({
          match: `${method} /half`,
          service: 'backend',
          scopes: [],
        })),
      ],
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  for (const target of targets) await target.stop();
  await reader.stop();
});
beforeEach(() => {
  arrivals = [];
  receivers = [];
  reader.requests.length = 0;
  answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok');
});

/** Handles the first request with `act`, and all later ones with the previous handler. */
function failFirst(act: (socket: Socket) => unknown): void {
  const previous = answer;
  let hasFailed = false;
  answer = (socket) => {
    if (hasFailed) previous(socket);
    else act(socket);
    hasFailed = true;
  };
}

/** Expects that the two attempts of a request went to different targets. */
function expectOtherTarget(): void {
  expect(receivers.toSorted()).toEqual([0, 1]);
}

/** Returns the number of retries of a service with an outcome so far. */
async function retriesOf(service: string, outcome: string): Promise<number | undefined> {
  const metrics = seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text);
  return metrics.get(`trailgate_upstream_retries_total{service="${service}",outcome="${outcome}"}`);
}

/** Returns a hash as `RecordedRequest` has it. */
const sha256 = (body: Buffer): string => createHash('sha256').update(body).digest('hex');

describe('the gateway retries', () => {
  it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'QUERY'])(
    '%s without a body at the other target after a reset before any response',
    async (method) => {
      failFirst((socket) => socket.resetAndDestroy());
      const path = method === 'GET' ? '/open' : '/half';
      expect((await gateway.send(path, { method, headers: BODYLESS })).status).toBe(200);
      expect(arrivals).toEqual([`${method} ${path}`, `${method} ${path}`]);
      expectOtherTarget();
    },
  );

  it.each<[string, (socket: Socket) => unknown]>([
    ['closed', (socket) => socket.end()],
    ['garbage', (socket) => socket.end('\0garbage\r\n\r\n')],
  ])('GET at the other target after a target sent no HTTP response: %s', async (_what, act) => {
    failFirst(act);
    expect((await gateway.send('/open')).text).toBe('ok');
    expect(arrivals).toHaveLength(2);
    expectOtherTarget();
  });

  it.each<[string, (body: Buffer) => Buffer | Readable]>([
    ['Content-Length', (body) => body],
    ['chunks', (body) => Readable.from(body.toString('latin1').match(/[^]{1,50000}/g) ?? [])],
  ])('a POST whose connection never opened, with its whole body in %s', async (_framing, bodyOf) => {
    const before = (await retriesOf('half', 'answered')) ?? 0;
    // Each request fails first with a probability of one half.
    const bodies = Array.from({ length: 20 }, (_, index) =>
      Buffer.alloc(1 + index ** 4, String.fromCharCode(97 + index)),
    );
    for (const body of bodies) {
      const headers = { 'Content-Type': 'application/octet-stream' };
      const { status, text } = await gateway.send('/half', { method: 'POST', headers, body: bodyOf(body) });
      expect([status, text]).toEqual([200, 'ok']);
    }
    expect(reader.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(bodies.map(() => 'POST /half'));
    expect(reader.requests.map(({ bodySha256 }) => bodySha256)).toEqual(bodies.map(sha256));
    expect(await retriesOf('half', 'answered')).toBeGreaterThan(before);
  });
});

describe('the gateway does not retry', () => {
  it.each([
    ['POST', '/customers', '{}'],
    ['POST', '/customers', undefined],
    ['PATCH', '/half', undefined],
    ['PUT', '/half', '{}'],
    ['DELETE', '/half', '{}'],
  ])('%s %s with body %s after it was sent on a connection', async (method, path, body) => {
    answer = (socket) => socket.resetAndDestroy();
    expectProblem(
      await gateway.send(path, { method, ...(body === undefined ? {} : { body }) }),
      'backend_bad_response',
    );
    expect(arrivals).toEqual([`${method} ${path}`]);
  });

  it.each<[string, string]>([
    ['an interim answer', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['a head without its body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n'],
    ['half of a body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'],
    ['half of an error', 'HTTP/1.1 500 X\r\nContent-Length: 10\r\n\r\nhalf'],
  ])('a GET that failed after %s', async (_what, bytes) => {
    answer = (socket) => socket.end(bytes);
    await gateway.send('/open').catch(() => undefined);
    expect(arrivals).toEqual(['GET /open']);
  });

  it.each([502, 503, 504])('a GET that was answered with %i', async (status) => {
    answer = (socket) => socket.end(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    expect((await gateway.send('/open')).status).toBe(status);
    expect(arrivals).toHaveLength(1);
  });

  it('a GET of a service without retries', async () => {
    answer = (socket) => socket.resetAndDestroy();
    expectProblem(await gateway.send('/stubborn'), 'backend_bad_response');
    expect(arrivals).toHaveLength(1);
  });
});

describe('a service with one target', () => {
  it('receives a GET a second time after a reset, but no third time', async () => {
    answer = (socket) => socket.resetAndDestroy();
    expectProblem(await gateway.send('/single'), 'backend_bad_response');
    expect(arrivals).toHaveLength(2);
  });

  it('receives a POST only once after a reset', async () => {
    answer = (socket) => socket.resetAndDestroy();
    expectProblem(await gateway.send('/single', { method: 'POST', body: '{}' }), 'backend_bad_response');
    expect(arrivals).toHaveLength(1);
  });
});

it('retries stay within the budget of 20 percent when every request fails', async () => {
  answer = (socket) => socket.resetAndDestroy();
  const requests = 600;
  for (let index = 0; index < requests; index += 20) {
    await Promise.all(Array.from({ length: 20 }, () => gateway.send('/budget')));
  }
  expect(arrivals.length).toBeLessThanOrEqual(1.2 * requests + FIRST_RETRIES);
  expect(arrivals.length).toBeGreaterThanOrEqual(1.19 * requests);
  expect(await retriesOf('budget', 'answered')).toBe(0);
  expect(await retriesOf('budget', 'over_budget')).toBeGreaterThan(requests / 2);
});

describe('an ejected target', () => {
  const FAILURES = 3;
  /** Whether the target leaves TLS handshakes unanswered. Otherwise it resets connections. */
  let isSilent = true;
  let opening: (() => void) | undefined;
  let resets = 0;
  let ejected: (() => void) | undefined;
  const deaf = createServer((socket) => {
    socket.on('error', () => undefined);
    if (isSilent) return opening?.();
    socket.resetAndDestroy();
    resets += 1;
    if (resets === FAILURES) ejected?.();
  });
  afterAll(() => {
    deaf.close();
  });

  it('has requests with connections that are still opening sent to another target, including POST', async () => {
    await once(deaf.listen(0, '127.0.0.1'), 'listening');
    const { port } = deaf.address() as AddressInfo;
    const own = await startProxied({
      targets: [`https://127.0.0.1:${port}`, reader.url],
      config: { services: { backend: { ejection: { failures: FAILURES }, timeouts: { connect: '1m' } } } },
    });
    try {
      // Each target gets one of the first requests, because neither responds.
      readerIsFree = new Promise<void>((resolve) => (ejected = resolve));
      const isOpening = new Promise<void>((resolve) => (opening = resolve));
      const bodies: string[] = [];
      const post = () => {
        const body = JSON.stringify({ name: 'x'.repeat(10_000 * bodies.length) });
        bodies.push(body);
        return own.send('/customers', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
      };
      const first = [post(), post()];
      await isOpening;
      isSilent = false;
      // The busy target makes the gateway try the failing one until it is ejected. The first request still waits for it.
      const all = await Promise.all([...first, ...Array.from({ length: 8 }, post)]);
      expect(all.map(({ status }) => status)).toEqual(all.map(() => 200));
      expect(reader.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(all.map(() => 'POST /customers'));
      // The requests are concurrent, so their order is not defined.
      const hashes = reader.requests.map(({ bodySha256 }) => bodySha256).toSorted();
      expect(hashes).toEqual(bodies.map((body) => sha256(Buffer.from(body))).toSorted());
    } finally {
      await own.stop();
    }
  });
});
