/** The HTTP client and the backends of the tests neither hide nor change what they transfer. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { json, startBackend, startRawBackend, type Backend, type RawBackend } from './backend.js';
import { exchange, send, sendRaw } from './http.js';

const started: (Backend | RawBackend)[] = [];
const track = <T extends Backend | RawBackend>(backend: T): T => (started.push(backend), backend);
afterEach(async () => {
  await Promise.all(started.splice(0).map((backend) => backend.stop()));
});

describe('send', () => {
  it('sends duplicate headers and an untidy path as they are', async () => {
    const backend = track(await startBackend(json({ ok: true })));
    const answer = await send(`${backend.url}/a/../b//c%2fd?x=1&x=2`, { headers: ['X-Twice', '1', 'x-twice', '2'] });
    expect(answer.json()).toEqual({ ok: true });
    expect(backend.requests[0]).toMatchObject({ method: 'GET', url: '/a/../b//c%2fd?x=1&x=2', bodyBytes: 0 });
    expect(backend.requests[0]?.rawHeaders.slice(2, 6)).toEqual(['X-Twice', '1', 'x-twice', '2']);
  });

  it('sends a JSON body, a text and a stream, and the backend sees every byte', async () => {
    const backend = track(await startBackend((_request, response) => response.end()));
    await send(backend.url, { method: 'POST', body: { name: 'Anna' } });
    await send(backend.url, { method: 'DELETE', body: 'ü' });
    const chunks = Array.from({ length: 40 }, (_, index) => Buffer.alloc(50_000, index));
    await send(backend.url, { method: 'PUT', body: Readable.from(chunks) });
    const [object, text, stream] = backend.requests;
    expect(object).toMatchObject({ body: Buffer.from('{"name":"Anna"}'), headers: { 'content-length': '15' } });
    expect(text).toMatchObject({ bodyBytes: 2, headers: { 'content-length': '2' } });
    expect(stream).toMatchObject({ bodyBytes: 2_000_000, headers: { 'transfer-encoding': 'chunked' } });
    expect(stream?.bodySha256).toBe(createHash('sha256').update(Buffer.concat(chunks)).digest('hex'));
  });

  it('shows trailers, and rejects an answer that breaks off', async () => {
    const backend = track(
      await startBackend((request, response) => {
        response.writeHead(200, { trailer: 'x-sum' });
        response.write('part');
        response.addTrailers({ 'x-sum': '7' });
        if (request.url === '/whole') response.end();
        else setTimeout(() => response.destroy(), 20);
      }),
    );
    expect(await send(`${backend.url}/whole`)).toMatchObject({ text: 'part', trailers: { 'x-sum': '7' } });
    await expect(send(`${backend.url}/broken`)).rejects.toThrow('aborted');
  });

  it('lets the backend answer before the body is there, and see that the client went away', async () => {
    let closed: (() => void) | undefined;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const backend = track(
      await startBackend(
        (_request, response) => {
          response.writeHead(200).flushHeaders();
          response.on('close', () => closed?.());
        },
        { atOnce: true },
      ),
    );
    const { request } = await exchange(backend.url, { method: 'POST', body: new Readable({ read() {} }) });
    request.destroy();
    await gone;
    expect(backend.requests[0]?.aborted).toBe(true);
  });
});

describe('raw sockets', () => {
  it('carry any bytes to a server and back', async () => {
    const backend = track(await startRawBackend((socket) => socket.end('HTTP/1.1 2OO\r\n\xff', 'latin1')));
    expect(await sendRaw(backend.port, 'GET')).toBe('HTTP/1.1 2OO\r\n\xff');
    expect(backend.connections).toBe(1);
    await expect(send(backend.url)).rejects.toThrow('Parse Error');
  });

  it('give back what came before silence', async () => {
    const backend = track(await startRawBackend((socket) => void socket.write('half')));
    expect(await sendRaw(backend.port, 'x', 100)).toBe('half');
  });
});
