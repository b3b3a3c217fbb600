/**
 * Rows of the retry table (`src/proxy/targets/retry-rules.spec.ts`) as callers see them, by outcome. `retries.spec.ts`
 * covers resets and refusals. `half-sick-targets.spec.ts` covers the errors of a target on probation.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { startRawBackend, type RawBackend } from '../support/backend.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import type { Json } from '../support/program-config.js';

type Act = (socket: Socket) => unknown;

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';
const responds: Act = (socket) => socket.end(OK);
const hangs: Act = () => undefined;
const resets: Act = (socket) => socket.resetAndDestroy();

/** Target whose behavior a test sets. Records the requests that it receives. */
class Target {
  arrivals: string[] = [];
  act: Act = responds;
  private backend: RawBackend | undefined;

  async start(): Promise<this> {
    this.backend = await startRawBackend((socket) => {
      let head = '';
      socket.on('data', (bytes) => {
        head += bytes.toString('latin1');
        if (!head.includes('\r\n\r\n')) return;
        this.arrivals.push(head.slice(0, head.indexOf(' HTTP/1.1')));
        head = '';
        this.act(socket);
      });
    });
    return this;
  }

  get url(): string {
    return this.backend?.url ?? '';
  }

  async stop(): Promise<void> {
    await this.backend?.stop();
  }
}

let one: Target;
let other: Target;
let gateway: Proxied | undefined;

const started = async (service: Json, targets = [one.url, other.url]): Promise<Proxied> =>
  (gateway = await startProxied({ targets, config: { services: { backend: service } } }));
const arrivals = (): string[] => [...one.arrivals, ...other.arrivals];

beforeAll(async () => {
  one = await new Target().start();
  other = await new Target().start();
});
afterAll(() => Promise.all([one.stop(), other.stop()]));
beforeEach(() => {
  for (const target of [one, other]) Object.assign(target, { arrivals: [], act: responds });
});
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
});

describe('with two targets in service', () => {
  it('bad_response: a POST that got no HTTP response is not retried', async () => {
    const { send } = await started({ ejection: { failures: 0 } });
    one.act = other.act = (socket) => socket.end('\0garbage\r\n\r\n');
    expectProblem(await send('/customers', { method: 'POST', body: {} }), 'backend_bad_response');
    expect(arrivals()).toEqual(['POST /customers']);
  });

  it('first_byte_timeout: a GET that a target received but did not answer in time is not retried', async () => {
    const { send } = await started({ ejection: { failures: 0 }, timeouts: { firstByte: '300ms' } });
    one.act = other.act = hangs;
    expectProblem(await send('/open'), 'backend_timeout');
    expect(arrivals()).toEqual(['GET /open']);
  });

  it('connect_timeout: a POST whose connection does not open in time goes to another target', async () => {
    // This target accepts connections, but never answers a TLS handshake.
    const deaf = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
    await once(deaf, 'listening');
    try {
      const { port } = deaf.address() as AddressInfo;
      const { send } = await started({ timeouts: { connect: '200ms' } }, [`https://127.0.0.1:${port}`, other.url]);
      const all = await Promise.all(Array.from({ length: 6 }, () => send('/customers', { method: 'POST', body: {} })));
      expect(all.map(({ status }) => status)).toEqual(all.map(() => 200));
      expect(arrivals()).toEqual(all.map(() => 'POST /customers'));
    } finally {
      deaf.close();
    }
  });
});

describe('when a target is ejected', () => {
  it('moved: a GET that it received but did not answer goes to another target, a POST does not', async () => {
    const { send } = await started({
      ejection: { failures: 3 },
      retries: { budget: 1 },
      timeouts: { firstByte: '5s' },
    });
    one.act = hangs;
    other.act = (socket) => setTimeout(responds, 100, socket);
    const held = (method: string) => one.arrivals.filter((line) => line.startsWith(method)).length;
    const gets: Promise<{ status: number }>[] = [];
    const posts: Promise<{ status: number }>[] = [];
    const get = () => gets.push(send('/open'));
    const post = () => posts.push(send('/customers', { method: 'POST', body: {} }));
    // Repeats until the hanging target has a GET and a POST. With alternating methods, it might get only one of them.
    await eventually('the hanging target has a GET and a POST', () => {
      for (const each of [get, post, post, get]) each();
      return held('GET') > 0 && held('POST') > 0;
    });
    const posted = held('POST');
    one.act = resets;
    // The gateway prefers the target with fewer calls. More requests than the hanging target holds make it get some.
    await eventually('the target is ejected', async () => {
      await Promise.all(Array.from({ length: 2 * one.arrivals.length + 6 }, () => send('/open')));
      const { data } = await gateway!.trailgate.admin.call<{ data: { state: string }[] }>('GET', '/targets');
      return data.some(({ state }) => state === 'ejected');
    });
    expect((await Promise.all(gets)).map(({ status }) => status)).toEqual(gets.map(() => 200));
    // Expects a 504 only for POSTs that the target held. A later POST met a reset, which is a 502.
    expect((await Promise.all(posts)).filter(({ status }) => status === 504)).toHaveLength(posted);
  });

  it('first_byte_timeout: a GET that tries it again and times out goes to another target', async () => {
    const ejection = { failures: 3, duration: '300ms', longest: '300ms' };
    const { send } = await started({ ejection, timeouts: { firstByte: '400ms' } });
    one.act = resets;
    other.act = (socket) => setTimeout(responds, 20, socket);
    await eventually('the target is ejected', async () => {
      await Promise.all(Array.from({ length: 6 }, () => send('/open')));
      return one.arrivals.length >= 3;
    });
    one.act = hangs;
    one.arrivals = [];
    const statuses: number[] = [];
    await eventually('the target gets a trial request', async () => {
      statuses.push((await send('/open')).status);
      return one.arrivals.length > 0;
    });
    expect(statuses).toEqual(statuses.map(() => 200));
    expect(one.arrivals).toEqual(['GET /open']);
  });
});
