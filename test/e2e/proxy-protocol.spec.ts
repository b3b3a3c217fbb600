/**
 * Behind a TCP load balancer, the client address comes from its PROXY header. Only configured addresses can send this
 * header.
 */
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { makeCertificate } from '../support/certificates.js';
import { describeWithOpenssl } from '../support/describe-with.js';
import { seriesOf } from '../support/metrics-text.js';
import { send } from '../support/http.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import type { Json } from '../support/program-config.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const V1 = Buffer.from('PROXY TCP4 203.0.113.7 127.0.0.1 51234 443\r\n');
const SIGNATURE = '0d0a0d0a000d0a515549540a';
const V2_IPV4 = Buffer.from(`${SIGNATURE}2111000c${'cb007107'}${'7f000001'}c82201bb`, 'hex');
const V2_IPV6 = Buffer.from(
  `${SIGNATURE}21210028${'20010db8000000000000000000000007'}${'00000000000000000000000000000001'}c82201bb${'04000100'}`,
  'hex',
);
const V2_LOCAL = Buffer.from(`${SIGNATURE}20000000`, 'hex');

const config = (from: readonly string[], more: Json = {}): Json => ({ gateway: { proxyProtocol: [...from], ...more } });

/** Returns the client address that the backend received. */
const forwardedFor = (gateway: Proxied): unknown => gateway.backend.requests.at(-1)?.headers['x-forwarded-for'];

async function readResponse(socket: Socket): Promise<string> {
  let text = '';
  for await (const part of socket.setEncoding('latin1')) text += part;
  return text;
}

const request = (gateway: Proxied): string =>
  `GET /api/v1/open HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\nConnection: close\r\n\r\n`;

describe('from a configured address', () => {
  let gateway: Proxied;
  beforeAll(async () => {
    gateway = await startProxied({ config: config(['127.0.0.0/8']) });
  });
  afterAll(() => gateway.stop());
  beforeEach(() => gateway.answerWith(json({ ok: true })));

  it.each([
    ['version 1', V1, '203.0.113.7'],
    ['version 2 with IPv4', V2_IPV4, '203.0.113.7'],
    ['version 2 with IPv6 and an extension', V2_IPV6, '2001:db8::7'],
    ['version 2 that speaks for itself', V2_LOCAL, '127.0.0.1'],
    ['version 1 of an unknown client', Buffer.from('PROXY UNKNOWN\r\n'), '127.0.0.1'],
  ])('a PROXY header (%s) sets the client address, sent at once or byte by byte', async (_what, header, address) => {
    const whole = connectTcp(gateway.port, '127.0.0.1');
    whole.write(Buffer.concat([header, Buffer.from(request(gateway))]));
    expect(await readResponse(whole)).toMatch(/^HTTP\/1\.1 200 /);
    expect(forwardedFor(gateway)).toBe(address);
    const slow = connectTcp(gateway.port, '127.0.0.1').setNoDelay(true);
    await once(slow, 'connect');
    for (const byte of header) await new Promise((sent) => slow.write(Buffer.from([byte]), sent));
    slow.write(request(gateway));
    expect(await readResponse(slow)).toMatch(/^HTTP\/1\.1 200 /);
    expect(forwardedFor(gateway)).toBe(address);
  });

  it('a PROXY header sets the client address in the log line of a refused request', async () => {
    const socket = connectTcp(gateway.port, '127.0.0.1');
    socket.write(
      Buffer.concat([V1, Buffer.from('GET /api/v1/nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')]),
    );
    expect(await readResponse(socket)).toMatch(/^HTTP\/1\.1 404 /);
    const line = () => gateway.trailgate.logs().find(({ path }) => path === '/api/v1/nothing');
    await eventually('the request is logged', () => line() !== undefined);
    expect(line()).toMatchObject({ client_address: '203.0.113.7' });
  });

  it('later requests on the connection have the same client address', async () => {
    const socket = connectTcp(gateway.port, '127.0.0.1').setEncoding('latin1');
    socket.write(V2_IPV4);
    for (let requests = 0; requests < 3; requests++) {
      gateway.backend.requests.length = 0;
      socket.write(request(gateway).replace('Connection: close\r\n', ''));
      await eventually('the backend gets the request', () => gateway.backend.requests.length === 1);
      expect(forwardedFor(gateway)).toBe('203.0.113.7');
    }
    // Sends a request with a body, which Node's parser reads.
    gateway.backend.requests.length = 0;
    socket.write(
      `PUT /api/v1/files/a HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\nContent-Length: 2\r\n\r\nab`,
    );
    await eventually('the backend gets the request', () => gateway.backend.requests.length === 1);
    expect(forwardedFor(gateway)).toBe('203.0.113.7');
    socket.destroy();
  });

  it.each([
    ['none', 'GET /api/v1/open HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['one that is none', 'PROXY TCP4 203.0.113.7 127.0.0.1 99999 443\r\n'],
    ['an address that is none', 'PROXY TCP4 evil 127.0.0.1 1 443\r\n'],
    ['a line without an end', `PROXY TCP4 ${'1'.repeat(200)}`],
    ['an unknown command', Buffer.from(`${SIGNATURE}2f11000c${'00'.repeat(12)}`, 'hex')],
    ['addresses that end early', Buffer.from(`${SIGNATURE}21110004cb007107`, 'hex')],
    ['extensions without end', Buffer.from(`${SIGNATURE}2111ffff`, 'hex')],
  ])('an invalid PROXY header (%s) cuts the connection without a response', async (_what, bytes) => {
    const metric = 'trailgate_connections_cut_total{reason="proxy_protocol"}';
    const count = async () => seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text).get(metric) ?? 0;
    const before = await count();
    const socket = connectTcp(gateway.port, '127.0.0.1').on('error', () => {});
    socket.write(bytes);
    await new Promise((closed) => socket.resume().on('close', closed));
    expect(socket.bytesRead).toBe(0);
    expect(await count()).toBe(before + 1);
    expect(gateway.backend.requests).toEqual([]);
  });

  it('a connection that sends nothing is cut', async () => {
    const socket = connectTcp(gateway.port, '127.0.0.1').on('error', () => {});
    await new Promise((closed) => socket.resume().on('close', closed));
    expect(socket.bytesRead).toBe(0);
  });
});

it('a PROXY header from another address gets 400 and reaches no backend', async () => {
  const gateway = await startProxied({ config: config(['192.0.2.0/24']) });
  const socket = connectTcp(gateway.port, '127.0.0.1');
  socket.write(Buffer.concat([V1, Buffer.from(request(gateway))]));
  expect(await readResponse(socket)).toMatch(/^HTTP\/1\.1 400 /);
  expect(gateway.backend.requests).toEqual([]);
  await gateway.stop();
});

describeWithOpenssl('before a TLS handshake', () => {
  it('a PROXY header sets the client address', async () => {
    const { cert, key } = makeCertificate(temporaryFolder('proxy-protocol'));
    const gateway = await startProxied({ config: config(['127.0.0.1'], { tls: { cert, key } }) });
    const socket = connectTcp(gateway.port, '127.0.0.1');
    socket.write(V2_IPV6);
    const secure = connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    secure.write(request(gateway));
    expect(await readResponse(secure)).toMatch(/^HTTP\/1\.1 200 /);
    expect(forwardedFor(gateway)).toBe('2001:db8::7');
    await gateway.stop();
  });
});
