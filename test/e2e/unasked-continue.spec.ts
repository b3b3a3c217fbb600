/**
 * `100 Continue` of a backend that got no `Expect` is skipped, as RFC 9110 section 15.2 requires of clients, and never
 * forwarded. It is no final response, so the deadline of the response stays the same.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startRawBackend, type RawBackend } from '../support/backend.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const CONNECTIONS = 2;

let backend: RawBackend;
let gateway: OwnProxied;
/** Pieces that the backend writes in response to each request. */
let pieces: readonly string[] = [];
/** Whether the backend repeats the last piece without end. */
let repeats = false;
let requests: string[] = [];

beforeAll(async () => {
  backend = await startRawBackend((socket) => {
    let text = '';
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1');
      const isWhole = /^(GET|HEAD) /.test(text) ? text.endsWith('\r\n\r\n') : text.includes('\r\n\r\nbody');
      if (!isWhole) return;
      requests.push(text);
      text = '';
      const [all, isEndless] = [pieces, repeats];
      let at = 0;
      const next = (): void => {
        const piece = all[at++] ?? (isEndless ? all.at(-1) : undefined);
        if (piece === undefined || socket.destroyed) clearInterval(timer);
        else socket.write(piece);
      };
      const timer = setInterval(next, 1);
      next();
    });
  });
  gateway = await startProxied({
    own: true,
    targets: backend.url,
    config: { services: { backend: { connections: CONNECTIONS, timeouts: { firstByte: '1200ms' } } } },
  });
});
beforeEach(() => {
  [pieces, repeats, requests] = [[], false, []];
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const ask = (head: string, fields = '', body = ''): Promise<string> =>
  gateway.raw(
    `${head}\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\nConnection: close\r\n${fields}\r\n${body}`,
    5_000,
  );

it.each([
  ['together with the answer', [CONTINUE + OK]],
  ['before it', [CONTINUE, OK]],
  ['byte by byte', [...CONTINUE, OK]],
  ['with fields of its own', ['HTTP/1.1 100 Continue\r\nX-Account-Id: evil\r\nLink: </x>\r\n\r\n', OK]],
  ['a thousand times', [CONTINUE.repeat(1_000) + OK]],
])('100 Continue %s: the client gets the response alone, and the connection is reused', async (_when, all) => {
  pieces = all;
  // Closes the backend connection that the previous test left open.
  await gateway.send('/open');
  const before = backend.connections;
  for (const version of ['1.1', '1.0', '1.1']) {
    const text = await ask(`GET /api/v1/open HTTP/${version}`);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nok$/);
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  }
  expect(backend.connections).toBe(before);
  expect(requests).toHaveLength(4);
  expect(requests.join('')).not.toMatch(/^expect:/im);
});

it('100 Continue to an upload reaches only a client that expects it, and only once', async () => {
  pieces = [CONTINUE, OK];
  const upload = (fields: string): Promise<string> =>
    ask('PUT /api/v1/files/a HTTP/1.1', `Content-Length: 4\r\n${fields}`, 'body');
  expect((await upload('')).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  expect((await upload('Expect: 100-continue\r\n')).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200']);
});

it('100 Continue after a response is not taken for the response to the next request', async () => {
  pieces = [OK + CONTINUE];
  for (let time = 0; time < 4; time++) expect((await gateway.send('/open')).text).toBe('ok');
  pieces = [OK, CONTINUE];
  for (let time = 0; time < 4; time++) expect((await gateway.send('/open')).text).toBe('ok');
});

it('100 Continue and nothing else gets 504, no retry and a refund, and loses no connection', async () => {
  const { secret } = (await gateway.trailgate.admin.newKey('pro')).key;
  const headers = { Authorization: `Bearer ${secret}` };
  pieces = [CONTINUE];
  for (const isEndless of [false, true]) {
    repeats = isEndless;
    requests = [];
    const answers = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => send(`${gateway.url}/open`, { headers, timeoutMs: 10_000 })),
    );
    expect(answers.map(({ status }) => status)).toEqual([504, 504]);
    expect(requests).toHaveLength(CONNECTIONS);
  }
  const used = async (): Promise<unknown> =>
    (await send(`${gateway.url}/usage`, { headers })).json<{ windows: { used: number }[] }>().windows[0]?.used;
  await eventually('all costs are refunded', async () => (await used()) === 0);
  const text = (await send(`${gateway.trailgate.adminUrl}/metrics`)).text;
  const timeouts = [...seriesOf(text)].filter(
    ([name, count]) =>
      count > 0 && name.includes('upstream_request_duration_seconds_count') && !name.includes('"answered"'),
  );
  expect(timeouts).toEqual([[expect.stringContaining('"first_byte_timeout"'), 2 * CONNECTIONS]]);
  [pieces, repeats] = [[OK], false];
  for (let time = 0; time < 2 * CONNECTIONS; time++) expect((await gateway.send('/open')).status).toBe(200);
});
