/**
 * The body of a request with an Idempotency-Key streams to its backend like any other. The gateway recognizes a
 * repetition by the digest of the body. Covers large, chunked, slow and cut bodies, `Expect`, and all HTTP versions.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startBackend } from '../support/backend.js';
import { makeCertificate } from '../support/certificates.js';
import { describeWithOpenssl } from '../support/describe-with.js';
import type { Answer } from '../support/http.js';
import { makesCustomer, startKeyedWorld, type KeyedWorld } from '../support/keyed.js';
import { expectProblem, parseAnswer } from '../support/problem.js';
import { eventually, temporaryFolder } from '../support/processes.js';

const MiB = 1_024 * 1_024;
const CONFIG = { services: { backend: { maxBodyBytes: '8MiB', timeouts: { idle: '1s' } } } };

describeWithOpenssl('an upload with an Idempotency-Key', () => {
  let world: KeyedWorld;
  let overTls: KeyedWorld;
  let key: string;
  beforeAll(async () => {
    const { cert, key: privateKey } = makeCertificate(temporaryFolder('keyed'));
    const tls = { gateway: { tls: { cert, key: privateKey } } };
    [world, overTls] = await Promise.all([
      startKeyedWorld('SQLite', { config: CONFIG }),
      startKeyedWorld('SQLite', { config: { ...CONFIG, ...tls } }),
    ]);
  });
  afterAll(() => Promise.all([world.stop(), overTls.stop()]));
  beforeEach(() => {
    key = randomUUID();
    world.says = makesCustomer;
  });

  it('of 5 MiB is replayed for the same bytes, whole or chunked, and refused for other bytes', async () => {
    const body = Buffer.alloc(5 * MiB, 'abcdefg');
    const first = await world.post(key, { body });
    expect(first.status).toBe(201);
    expect(world.backend.requests.at(-1)?.bodyBytes).toBe(body.length);
    for (const again of [body, Readable.from([body.subarray(0, 3), body.subarray(3)])]) {
      const replayed = await world.post(key, { body: again });
      expect([replayed.status, replayed.text, replayed.headers['idempotent-replayed']]).toEqual([
        201,
        first.text,
        'true',
      ]);
    }
    const other = Buffer.from(body);
    other[other.length - 1] = 0;
    expectProblem(await world.post(key, { body: other }), 'idempotency_mismatch');
    expectProblem(await world.post(key, { body: body.subarray(1) }), 'idempotency_mismatch');
    expect(world.carriedOut(key)).toBe(1);
  });

  it('reaches the backend as it arrives, not only at its end', async () => {
    const source = new Readable({ read: () => undefined });
    const answer = world.post(key, { body: source });
    source.push('one');
    await eventually(
      'the first piece arrives at the backend',
      () => world.backend.requests.at(-1)?.body.toString() === 'one',
    );
    source.push('two');
    source.push(null);
    expect((await answer).json()).toMatchObject({ said: 'onetwo' });
  });

  /** Opens a connection and sends the head of a request. */
  async function sendHead(head: readonly string[]): Promise<{ socket: Socket; text: () => string }> {
    const socket = connect(Number(new URL(world.gateways[0]!.gatewayUrl).port), '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
    const fields = ['Host: a', `Authorization: Bearer ${world.key.secret}`, `Idempotency-Key: ${key}`, ...head];
    socket.write(`POST /api/v1/customers HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`);
    return { socket, text: () => text };
  }

  it('with Expect gets 100 Continue when it is carried out or replayed, but not when it is refused', async () => {
    const head = ['Content-Length: 2', 'Expect: 100-continue'];
    for (const mark of [undefined, 'true']) {
      const { socket, text } = await sendHead(head);
      await eventually('100 Continue arrives', () => text().startsWith('HTTP/1.1 100 Continue\r\n\r\n'));
      socket.write('{}');
      await eventually('the response arrives', () => text().includes('"said":"{}"'));
      const answer = parseAnswer(text().slice('HTTP/1.1 100 Continue\r\n\r\n'.length));
      expect([answer.status, answer.headers['idempotent-replayed']]).toEqual([201, mark]);
      socket.destroy();
    }
    const { socket, text } = await sendHead(['Content-Type: text/plain', ...head]);
    await eventually('the refusal arrives', () => text().includes('\r\n\r\n'));
    expectProblem(parseAnswer(text()), 'idempotency_mismatch');
    socket.destroy();
  });

  it('that stalls while it is compared with the first one gets 408', async () => {
    expect((await world.post(key, { body: '{}', type: 'a/b' })).status).toBe(201);
    const { socket, text } = await sendHead(['Content-Type: a/b', 'Content-Length: 2']);
    socket.write('{');
    await eventually('the response arrives', () => text().includes('\r\n\r\n'));
    expectProblem(parseAnswer(text()), 'request_timeout');
    socket.destroy();
  });

  it('that is too large is refused and leaves its key free for another request', async () => {
    const large = Buffer.alloc(8 * MiB + 1);
    expectProblem(await world.post(key, { body: large }), 'content_too_large');
    expect((await world.post(key, { body: '{}' })).status).toBe(201);
    const again = await world.post(key, { body: Readable.from([large]) }).catch(() => 'cut');
    expect(again === 'cut' || (again as Answer).status === 413).toBe(true);
  });

  it('that breaks off before its end is not recorded, and its retry is carried out', async () => {
    const { socket } = await sendHead(['Content-Type: application/json', 'Content-Length: 13']);
    socket.write('{"name"');
    await eventually('the backend has the first part', () => world.carriedOut(key) === 1);
    socket.destroy();
    await eventually('the request is carried out', async () => (await world.post(key)).status === 201);
    expect(world.carriedOut(key)).toBe(2);
    expect((await world.post(key)).headers['idempotent-replayed']).toBe('true');
  });

  it('that the backend refuses before its end reaches the backend again when repeated', async () => {
    const backend = await startBackend((_request, response) => void response.writeHead(422).end(), { atOnce: true });
    const small = await startKeyedWorld('SQLite', { backend: backend.url });
    try {
      const source = new Readable({ read: () => undefined });
      source.push('beginning');
      expect((await small.post(key, { body: source })).status).toBe(422);
      source.destroy();
      await eventually('the backend gets the retry', async () => {
        await small.post(key).catch(() => undefined);
        return backend.requests.length > 1;
      });
    } finally {
      await small.stop();
      await backend.stop();
    }
  });

  type How = 'whole' | 'in pieces' | 'HTTP/1.0' | 'HTTP/2';

  it.each<[string, () => KeyedWorld, readonly How[]]>([
    ['HTTP', () => world, ['whole', 'in pieces', 'HTTP/1.0', 'whole']],
    ['HTTP, in pieces first', () => world, ['in pieces', 'whole', 'in pieces']],
    ['HTTP/1.0 first', () => world, ['HTTP/1.0', 'whole']],
    ['TLS', () => overTls, ['whole', 'in pieces', 'HTTP/2']],
    ['HTTP/2 first', () => overTls, ['HTTP/2', 'HTTP/2', 'whole']],
  ])('is carried out once and then replayed over %s', async (_how, to, [beginning = 'whole', ...others]) => {
    const first = await ask(to(), beginning);
    expect([first.status, first.mark]).toEqual([201, undefined]);
    for (const other of others) expect(await ask(to(), other)).toEqual({ ...first, mark: 'true' });
    expect(to().carriedOut(key)).toBe(1);
  });

  async function ask(to: KeyedWorld, how: How) {
    if (how === 'HTTP/2') return askByHttp2(to);
    if (how === 'HTTP/1.0') return askByHttp10(to);
    const body = Readable.from(['{"name"', ':"Ana"}']);
    const { status, text, headers } = await to.post(key, how === 'whole' ? {} : { body });
    return { status, text, mark: headers['idempotent-replayed'] };
  }

  async function askByHttp10(to: KeyedWorld) {
    const socket = connect(Number(new URL(to.gateways[0]!.gatewayUrl).port), '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
    const fields = [
      'Host: a',
      `Authorization: Bearer ${to.key.secret}`,
      `Idempotency-Key: ${key}`,
      'Content-Type: application/json',
      'Content-Length: 14',
    ];
    socket.write(`POST /api/v1/customers HTTP/1.0\r\n${fields.join('\r\n')}\r\n\r\n{"name":"Ana"}`);
    await once(socket, 'close');
    const answer = parseAnswer(text.replace('HTTP/1.0', 'HTTP/1.1'));
    return { status: answer.status, text: answer.text, mark: answer.headers['idempotent-replayed'] };
  }

  async function askByHttp2(to: KeyedWorld) {
    const session = connectHttp2(to.gateways[0]!.gatewayUrl, { rejectUnauthorized: false });
    const stream = session.request({
      ':method': 'POST',
      ':path': '/api/v1/customers',
      authorization: `Bearer ${to.key.secret}`,
      'idempotency-key': key,
      'content-type': 'application/json',
    });
    stream.end('{"name":"Ana"}');
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    let text = '';
    for await (const piece of stream.setEncoding('utf8')) text += String(piece);
    session.close();
    return { status: headers[':status'], text, mark: headers['idempotent-replayed'] };
  }
});
