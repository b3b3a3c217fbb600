/**
 * An upload ends within a second when its key is refused. The client gets an error, and the backend call is aborted. A
 * request that was sent completely is answered as usual. One that waits for a connection is never sent.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Account, ApiKeyWithSecret } from '../support/admin.js';
import { makeCertificate } from '../support/certificates.js';
import { openRequest, send } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { eventually, sleep, temporaryFolder } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';
import { describeWithOpenssl } from '../support/describe-with.js';

const SOON_MS = 1_000;
/**
 * Maximum time until the connection closes. The gateway reads the rest of the body for two seconds, and a busy machine
 * needs one more.
 */
const CLOSED_MS = 3_000;

let gateway: OwnProxied;
let account: Account;
let key: ApiKeyWithSecret;
const timers: NodeJS.Timeout[] = [];
const requests: ClientRequest[] = [];

afterEach(() => {
  for (const timer of timers.splice(0)) clearInterval(timer);
  for (const request of requests.splice(0)) request.destroy();
});

/** Starts an upload that sends a piece of the body every 20 ms without end. */
function uploadForever(secret: string, path = '/files/a', pieceBytes = 1_000): ClientRequest {
  const request = openRequest(`${gateway.url}${path}`, {
    method: 'PUT',
    headers: ['Authorization', `Bearer ${secret}`, 'Transfer-Encoding', 'chunked'],
  });
  request.on('error', () => undefined);
  requests.push(request);
  const piece = Buffer.alloc(pieceBytes, 'x');
  timers.push(setInterval(() => request.writable && request.write(piece), 20));
  return request;
}

async function problemOf(request: ClientRequest): Promise<Record<string, unknown>> {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
}

const cuts = async (code: string): Promise<string | undefined> =>
  (await send(`${gateway.trailgate.adminUrl}/metrics`)).text
    .split('\n')
    .find((line) => line.startsWith(`trailgate_streams_cut_total{kind="upload",code="${code}"}`));

const arrived = (index = 0): number => gateway.backend.requests[index]?.bodyBytes ?? 0;

/** Waits until the backend sees that an upload was aborted. Returns the index of its request. */
async function abortedUpload(): Promise<number> {
  const index = () => gateway.backend.requests.findIndex(({ aborted }) => aborted);
  await eventually('the backend sees it', () => index() >= 0, SOON_MS);
  return index();
}

describe('an upload over HTTP/1.1', () => {
  beforeAll(async () => {
    gateway = await startProxied({ own: true, backendOptions: { atOnce: true } });
  });
  afterAll(() => gateway.stop());

  async function newKey(): Promise<void> {
    ({ account, key } = await gateway.trailgate.admin.newKey());
  }

  it('gets 401 and is aborted at the backend when its key is revoked, while another key continues', async () => {
    gateway.answerWith(async (request, response) => {
      request.resume();
      await once(request, 'end');
      response.end('kept');
    });
    await newKey();
    const request = uploadForever(key.secret);
    const other = await gateway.trailgate.admin.createKey(account.id);
    const lasting = uploadForever(other.secret);
    await eventually('both uploads make progress', () => arrived(0) > 10_000 && arrived(1) > 10_000);
    const [closed, answer] = [once(request, 'close'), problemOf(request)];
    const startedMs = performance.now();
    await gateway.trailgate.admin.revokeKey(key.id);
    expect(await answer).toMatchObject({ status: 401, code: 'revoked_api_key' });
    expect(quietMsSince(startedMs)).toBeLessThan(SOON_MS);
    const aborted = await abortedUpload();
    const received = arrived(aborted);
    await closed;
    expect(quietMsSince(startedMs)).toBeLessThan(CLOSED_MS + SOON_MS);

    const index = gateway.backend.requests.findIndex((each) => !each.aborted);
    const before = arrived(index);
    await eventually('the other upload makes progress', () => arrived(index) > before + 10_000);
    expect(arrived(aborted)).toBe(received);
    const answered = once(lasting, 'response') as Promise<[IncomingMessage]>;
    clearInterval(timers.pop());
    lasting.end();
    expect((await answered)[0].statusCode).toBe(200);

    expect(await cuts('revoked_api_key')).toMatch(/ 1$/);
    const line = gateway.trailgate.logs().find(({ api_key_id, event }) => event === 'request' && api_key_id === key.id);
    expect(line).toMatchObject({ status: 401, code: 'revoked_api_key' });
  });

  it('sends no more bytes to the backend once its key is revoked, even if the client keeps sending', async () => {
    gateway.answerWith((request) => void request.resume());
    await newKey();
    // Node's HTTP client stops when the gateway ends its side of the connection.
    const socket = connectSocket({ host: '127.0.0.1', port: gateway.port, allowHalfOpen: true }).resume();
    socket.on('error', () => undefined);
    try {
      const fields = `Host: a\r\nAuthorization: Bearer ${key.secret}\r\nTransfer-Encoding: chunked`;
      socket.write(`PUT /api/v1/files/a HTTP/1.1\r\n${fields}\r\n\r\n`);
      const piece = `3e8\r\n${'x'.repeat(1_000)}\r\n`;
      timers.push(setInterval(() => socket.writable && socket.write(piece), 20));
      await eventually('it flows', () => arrived() > 10_000);
      await gateway.trailgate.admin.revokeKey(key.id);
      const received = arrived(await abortedUpload());
      const sent = () => socket.bytesWritten - socket.writableLength;
      const sentBefore = sent();
      // The gateway reads the rest of the body for two seconds.
      await eventually('the client sends more', () => sent() > sentBefore + 3_000);
      expect(gateway.backend.requests.map(({ bodyBytes }) => bodyBytes)).toEqual([received]);
    } finally {
      socket.destroy();
    }
  });

  it('gets 403 when its account is suspended, even if the backend reads nothing', async () => {
    let read = (): unknown => undefined;
    gateway.answerWith((request) => (read = () => request.pause().resume()));
    await newKey();
    const request = uploadForever(key.secret, '/files/a', 200_000);
    const sent = () => (request.socket?.bytesWritten ?? 0) - request.writableLength;
    let before = -1;
    await eventually('the gateway reads no more of the body', async () => {
      const isStalled = sent() === before && before > 100_000;
      before = sent();
      await sleep(150);
      return isStalled;
    });
    const answer = problemOf(request);
    await gateway.trailgate.admin.updateAccount(account.id, { status: 'suspended' });
    expect(await answer).toMatchObject({ status: 403, code: 'account_suspended' });
    // The gateway has cut the connection, which the backend notices only when it reads.
    read();
    await eventually('the backend request is aborted', () => gateway.backend.requests[0]?.aborted === true, SOON_MS);
    expect(await cuts('account_suspended')).toMatch(/ 1$/);
  });

  it('gets 403 within a second when its key is paused, and so does the next request', async () => {
    gateway.answerWith((request) => void request.resume());
    await newKey();
    const request = uploadForever(key.secret);
    await eventually('the upload makes progress', () => arrived() > 1_000);
    const answer = problemOf(request);
    const startedMs = performance.now();
    await gateway.trailgate.admin.pauseKey(key.id);
    expect(await answer).toMatchObject({ status: 403, code: 'key_paused' });
    expect(quietMsSince(startedMs)).toBeLessThan(SOON_MS);
    expect(await cuts('key_paused')).toMatch(/ 1$/);
    const refused = await send(`${gateway.url}/files/a`, { headers: { Authorization: `Bearer ${key.secret}` } });
    expect(refused.headers['x-should-retry']).toBe('false');
    expect(refused.json()).toMatchObject({ status: 403, code: 'key_paused' });
  });

  it('is answered as usual if it was sent completely before its key was revoked', async () => {
    gateway.answerWith(async (request, response) => {
      request.resume();
      await once(request, 'end');
      await sleep(700);
      response.end('kept');
    });
    await newKey();
    const answer = send(`${gateway.url}/files/a`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${key.secret}` },
      body: Buffer.alloc(100_000),
    });
    await eventually('the upload has arrived completely', () => gateway.backend.requests[0]?.bodySha256 !== undefined);
    await gateway.trailgate.admin.revokeKey(key.id);
    const { status, text } = await answer;
    expect([status, text]).toEqual([200, 'kept']);
  });
});

describe('a request that waits for a backend connection', () => {
  beforeAll(async () => {
    gateway = await startProxied({ own: true, config: { services: { backend: { connections: 1 } } } });
  });
  afterAll(() => gateway.stop());

  it('gets 401 when its key is revoked, is never sent and costs nothing', async () => {
    let finish = (): void => undefined;
    gateway.answerWith((_request, response) => (finish = () => void response.end('done')));
    const first = gateway.send('/customers');
    await eventually('the backend gets the request', () => gateway.backend.requests.length === 1);
    ({ account, key } = await gateway.trailgate.admin.newKey('pro'));
    const headers = { Authorization: `Bearer ${key.secret}` };
    const waiting = [
      send(`${gateway.url}/customers`, { headers }),
      send(`${gateway.url}/files/a`, { method: 'PUT', headers, body: 'x'.repeat(1_000) }),
    ];
    await sleep(200);
    await gateway.trailgate.admin.revokeKey(key.id);
    for (const answer of await Promise.all(waiting)) {
      expect(answer.json()).toMatchObject({ status: 401, code: 'revoked_api_key' });
    }
    finish();
    expect((await first).text).toBe('done');
    expect(gateway.backend.requests).toHaveLength(1);
    const other = await gateway.trailgate.admin.createKey(account.id);
    const usage = await send(`${gateway.url}/usage`, { headers: { Authorization: `Bearer ${other.secret}` } });
    const windows = usage.json<{ windows: { used: number }[] }>().windows;
    expect(windows.map(({ used }) => used)).toEqual(windows.map(() => 0));
    expect(windows).not.toEqual([]);
  });
});

describeWithOpenssl('an upload over HTTP/2', () => {
  it('gets 401 when its key is revoked, while another upload on the connection continues', async () => {
    const files = makeCertificate(temporaryFolder('upload-http2'));
    gateway = await startProxied({
      own: true,
      config: { gateway: { tls: { cert: files.cert, key: files.key } } },
      backendOptions: { atOnce: true },
    });
    const session = connect(gateway.trailgate.gatewayUrl, { ca: readFileSync(files.cert) });
    try {
      gateway.answerWith((request) => request.resume());
      const keys = [(await gateway.trailgate.admin.newKey()).key, (await gateway.trailgate.admin.newKey()).key];
      const uploads = keys.map(({ secret }) => {
        const headers = { ':method': 'PUT', ':path': '/api/v1/files/a', authorization: `Bearer ${secret}` };
        const request = session.request(headers).resume();
        request.on('error', () => undefined);
        timers.push(setInterval(() => request.writable && request.write('x'.repeat(1_000)), 20));
        return request;
      });
      await eventually('both uploads make progress', () => arrived(0) > 10_000 && arrived(1) > 10_000);
      const answered = once(uploads[0] ?? session, 'response') as Promise<[Record<string, unknown>]>;
      await gateway.trailgate.admin.revokeKey(keys[0]?.id ?? '');
      expect((await answered)[0][':status']).toBe(401);
      await eventually('the stream ends', () => uploads[0]?.closed === true, CLOSED_MS);
      const aborted = await abortedUpload();
      const received = arrived(aborted);
      const index = gateway.backend.requests.findIndex((each) => !each.aborted);
      const before = arrived(index);
      await eventually('the other upload makes progress', () => arrived(index) > before + 10_000);
      expect(arrived(aborted)).toBe(received);
      expect([uploads[1]?.closed, session.destroyed]).toEqual([false, false]);
    } finally {
      session.destroy();
      await gateway.stop();
    }
  });
});
