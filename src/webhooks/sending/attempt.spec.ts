/** Requests that an attempt sends, and its results with misbehaving real receivers. */
import { createHmac, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, describe, expect, it } from '@jest/globals';
import { GuardedConnections } from '../../http/outbound/guarded-agent.js';
import { outboundRules } from '../../http/outbound/destination.js';
import { OutboundFailed } from '../../http/outbound/outbound-failed.js';
import { METRICS } from '../../platform/metrics.js';
import { newSigningSeed, privateKeyOf } from '../signing/webhook-secret.js';
import { type AttemptMade, payloadOf, WebhookSender, type WebhookToSend } from './attempt.js';

const NOW_MS = Date.parse('2026-11-22T17:04:05.123Z');
/** Timeout of attempts that must not time out, even on a busy machine. */
const PATIENCE_MS = 30_000;
const SECRET = Buffer.alloc(32, 7);
const PRIVATE_KEY = privateKeyOf(newSigningSeed());
const event = {
  id: 'evt_0001',
  type: 'customer.created',
  accountId: 'acc_1',
  occurredAtMs: NOW_MS - 1_000,
  data: '{"id": 12345678901234567890, "name":"Zoë"}',
};
const body = payloadOf(event);
const servers: Server[] = [];
const sockets = new Set<Socket>();

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
});

async function listen(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'));
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const receiver = (say: (socket: Socket) => void): Promise<number> =>
  listen(createServer((socket) => void socket.once('data', () => say(socket))));

const rules = outboundRules({ allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] });

function senderOf(resolve = () => Promise.resolve<readonly string[]>(['127.0.0.1'])): WebhookSender {
  const connections = new GuardedConnections({ resolve, connectTimeoutMs: PATIENCE_MS });
  return new WebhookSender({ connections, rules: () => rules, clock: { now: () => NOW_MS } });
}

async function attempt(url: string, more: Partial<WebhookToSend> = {}, sender = senderOf()): Promise<AttemptMade> {
  const keys = { secrets: [SECRET], privateKeys: [PRIVATE_KEY] };
  const end = await sender.sendWebhook({ url, eventId: event.id, body, keys, timeoutMs: PATIENCE_MS, ...more });
  if ('shortOf' in end) throw new Error(`short of ${end.shortOf}`);
  return end;
}

const hook = (port: number) => `http://hooks.example.net:${port}/hook?a=b`;
const says = (head: string, text = '') => `HTTP/1.1 ${head}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;

describe('an attempt', () => {
  it('sends the body with its signatures over exactly these bytes, made at this moment', async () => {
    const seen: { headers: IncomingHttpHeaders; body: string }[] = [];
    const port = await listen(
      createHttpServer((message, response) => {
        const pieces: Buffer[] = [];
        message.on('data', (piece: Buffer) => pieces.push(piece));
        message.on('end', () => {
          seen.push({ headers: message.headers, body: Buffer.concat(pieces).toString() });
          response.end('thanks');
        });
      }),
    );
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const made = await attempt(hook(port), { traceparent });
    expect(made).toMatchObject({
      outcome: 'succeeded',
      atMs: NOW_MS,
      statusCode: 200,
      error: null,
      address: '127.0.0.1',
      responseBody: 'thanks',
    });
    const [{ headers, body: sent } = { headers: {} as IncomingHttpHeaders, body: '' }] = seen;
    expect(sent).toBe(
      '{"id":"evt_0001","type":"customer.created","timestamp":"2026-11-22T17:04:04.123Z","account_id":"acc_1",' +
        '"data":{"id": 12345678901234567890, "name":"Zoë"}}',
    );
    const content = `evt_0001.1795367045.${sent}`;
    const [v1 = '', v1a = ''] = String(headers['webhook-signature']).split(' ');
    expect(v1).toBe(`v1,${createHmac('sha256', SECRET).update(content).digest('base64')}`);
    expect(verify(null, Buffer.from(content), PRIVATE_KEY, Buffer.from(v1a.slice('v1a,'.length), 'base64'))).toBe(true);
    expect(headers).toMatchObject({
      'webhook-id': 'evt_0001',
      'webhook-timestamp': '1795367045',
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'user-agent': expect.stringMatching(/^Trailgate-Webhooks\/\d/),
      traceparent,
    });
  });

  it('without a signing key sends nothing', async () => {
    let requests = 0;
    const port = await receiver(() => (requests += 1));
    await expect(attempt(hook(port), { keys: { secrets: [], privateKeys: [] } })).rejects.toThrow(
      'never sent unsigned',
    );
    expect(requests).toBe(0);
  });

  it.each([
    ['a redirect', says('302 Found\r\nLocation: http://127.0.0.1/'), { outcome: 'failed', statusCode: 302 }],
    ['410', says('410 Gone'), { outcome: 'gone', statusCode: 410 }],
    [
      'that it wants no more of this',
      says('400 No\r\nwebhook-delivery: abort-message'),
      { outcome: 'aborted', statusCode: 400 },
    ],
    ['503 and when', says('503 Busy\r\nRetry-After: 7'), { outcome: 'failed', statusCode: 503, retryAfterMs: 7_000 }],
    [
      '429 and a date',
      says('429 Slow\r\nRetry-After: Sun, 22 Nov 2026 17:05:05 GMT'),
      { outcome: 'failed', retryAfterMs: 59_877 },
    ],
    [
      'something else than HTTP',
      'SSH-2.0-x\r\n\r\n',
      { outcome: 'failed', error: expect.stringMatching(/^malformed/) },
    ],
    ['characters that no database takes', says('500 No', 'a\0b'), { responseBody: 'a\uFFFDb', error: null }],
  ])('has the right result for a receiver that says %s', async (_what, text, expected) => {
    const port = await receiver((socket) => socket.end(text, 'latin1'));
    expect(await attempt(hook(port))).toMatchObject(expected);
  });

  it('keeps the first kibibyte of 10 GB, and no partial character', async () => {
    const port = await receiver((socket) => {
      const piece = Buffer.from('é'.repeat(32_768));
      socket.write('HTTP/1.1 500 No\r\nContent-Length: 10737418240\r\n\r\nx');
      const more = (): void => {
        while (!socket.destroyed && socket.write(piece));
      };
      socket.on('drain', more);
      more();
    });
    expect(await attempt(hook(port))).toMatchObject({ statusCode: 500, responseBody: `x${'é'.repeat(511)}` });
  });

  it('ends in time, whether nothing arrives or one byte at a time', async () => {
    const silent = await receiver(() => {});
    const slow = await receiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nX: ');
      const timer = setInterval(() => socket.write('y'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    for (const port of [silent, slow]) {
      const end = await attempt(hook(port), { timeoutMs: 150 });
      expect(end).toMatchObject({ outcome: 'failed', statusCode: null, error: 'response_timeout', responseBody: null });
      expect(end.durationMs).toBeGreaterThanOrEqual(140);
    }
  });
});

describe('a destination', () => {
  it('that is refused fails the attempt, without exposing the resolved address', async () => {
    const refused = () => METRICS.webhookRefusedDestinations.series('private').value;
    const before = refused();
    const end = await attempt(
      hook(80),
      {},
      senderOf(() => Promise.resolve(['10.1.2.3'])),
    );
    expect(end).toMatchObject({
      outcome: 'failed',
      statusCode: null,
      error: 'address_refused (private)',
      address: null,
    });
    expect(refused()).toBe(before + 1);
    expect(await attempt('http://169.254.169.254/latest')).toMatchObject({ error: 'address_refused (link_local)' });
  });

  it('that is not listening fails the attempt', async () => {
    const port = await receiver(() => {});
    servers.at(-1)?.close();
    expect(await attempt(hook(port))).toMatchObject({ outcome: 'failed', error: 'connect_failed (ECONNREFUSED)' });
  });
});

describe('a process without a file descriptor', () => {
  it('reports the shortage instead of a failed attempt', async () => {
    const sender = senderOf(() => Promise.reject(new OutboundFailed('connect_failed', 'EMFILE')));
    const keys = { secrets: [SECRET], privateKeys: [] };
    const end = await sender.sendWebhook({ url: hook(80), eventId: event.id, body, keys, timeoutMs: 500 });
    expect(end).toEqual({ shortOf: 'file_descriptors' });
  });
});
