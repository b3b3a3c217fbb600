/** A request body is counted, paused, and destroyed without closing the client's connection. */
import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { hasBody, peerError, RequestBody } from './request-body.js';

/** A client message: a stream fed by the test, on a connection that can be cut. */
function message(): Readable & IncomingMessage {
  const stream = new Readable({ read() {}, highWaterMark: 1024 });
  return Object.assign(stream, { socket: new PassThrough(), complete: false }) as unknown as Readable & IncomingMessage;
}

const forwarded = (source: IncomingMessage, maxBytes = 1_000_000, onProgress = (): void => {}): RequestBody =>
  new RequestBody(source, maxBytes, onProgress);

async function readAll(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe('hasBody', () => {
  it.each<[Record<string, string>, boolean]>([
    [{}, false],
    [{ 'content-length': '0' }, false],
    [{ 'content-length': '00' }, false],
    [{ 'content-length': '1' }, true],
    [{ 'content-length': '01' }, true],
    [{ 'transfer-encoding': 'chunked' }, true],
    [{ 'content-type': 'application/json' }, false],
  ])('%j: %s', (headers, expected) => {
    expect(hasBody({ headers } as unknown as IncomingMessage)).toBe(expected);
  });
});

describe('a request body', () => {
  it('arrives whole, and reports progress', async () => {
    const source = message();
    let progress = 0;
    const body = forwarded(source, 100, () => progress++);
    for (const chunk of ['one ', 'two ', 'three']) source.push(chunk);
    source.push(null);
    expect(await readAll(body)).toBe('one two three');
    expect(progress).toBeGreaterThan(0);
  });

  it('ends without an uncaught error if its client disconnects while nothing listens', async () => {
    const source = message();
    const body = forwarded(source);
    source.emit('aborted');
    await new Promise((resolve) => body.once('close', resolve));
    expect(body.errored).toMatchObject({ code: 'TRAILGATE_CLIENT_GONE' });
  });

  it('of exactly the limit passes, and one byte more ends it with an error before that chunk', async () => {
    const exact = message();
    exact.push('x'.repeat(10));
    exact.push(null);
    expect(await readAll(forwarded(exact, 10))).toHaveLength(10);

    const larger = message();
    const body = forwarded(larger, 10);
    const chunks: Buffer[] = [];
    body.on('data', (chunk: Buffer) => chunks.push(chunk));
    larger.push('x'.repeat(10));
    await setImmediate();
    larger.push('y');
    const [error] = (await once(body, 'error')) as [Error & { code: string }];
    expect(error.code).toBe('TRAILGATE_REQUEST_TOO_LARGE');
    expect(Buffer.concat(chunks).toString()).toBe('x'.repeat(10));
  });

  it('pauses the client while the backend does not read, and reports that the backend is the cause', async () => {
    const source = message();
    const body = forwarded(source);
    expect(body.isHeldByBackend).toBe(false);
    body.read(0); // the backend begins to take it
    for (let index = 0; index < 500; index++) source.push(Buffer.alloc(1024));
    await setImmediate();
    expect(source.isPaused()).toBe(true);
    expect(body.isHeldByBackend).toBe(true);
    expect(body.readableLength).toBeLessThanOrEqual(body.readableHighWaterMark + 64 * 1024);
    while (body.read() !== null) await setImmediate();
    expect(source.isPaused()).toBe(false);
    expect(body.isHeldByBackend).toBe(false);
  });

  it('is not read before the backend asks', async () => {
    const source = message();
    const body = forwarded(source);
    source.push('early');
    await setImmediate();
    expect(body.readableLength).toBe(0);
  });

  it.each(['aborted', 'error'])('ends with an error when the client is gone (%s)', async (event) => {
    const source = message();
    const body = forwarded(source);
    source.on('error', () => {});
    body.read(0);
    source.push('half');
    await setImmediate();
    const failed = once(body, 'error') as Promise<[Error & { code: string }]>;
    source.emit(event, new Error('reset'));
    expect((await failed)[0].code).toBe('TRAILGATE_CLIENT_GONE');
  });

  it('that the backend gives up keeps the client connection, and the rest is discarded', async () => {
    const source = message();
    const body = forwarded(source);
    body.read(0);
    source.push('half');
    await setImmediate();
    body.on('error', () => {});
    body.destroy(new Error('the backend closed'));
    await new Promise((closed) => body.once('close', closed));
    source.push('the rest');
    source.push(null);
    await once(source, 'end');
    expect(source.socket.destroyed).toBe(false);
    // A client that disconnects later causes no unhandled error.
    source.emit('error', new Error('reset'));
  });

  it('that the backend gives up closes the connection if the client sends too much more', async () => {
    const source = message();
    const body = forwarded(source).on('error', () => {});
    body.destroy(new Error('the backend closed'));
    for (let index = 0; index < 65; index++) source.push(Buffer.alloc(1024 * 1024));
    await once(source.socket, 'close');
    expect(source.socket.destroyed).toBe(true);
  });
});

it('errors about a peer have no stack, and do not change Error.stackTraceLimit', () => {
  const limit = Error.stackTraceLimit;
  const error = peerError('TRAILGATE_CLIENT_GONE') as Error & { code: string };
  expect(error.code).toBe('TRAILGATE_CLIENT_GONE');
  expect(error.stack).not.toMatch(/\n\s+at /);
  expect(Error.stackTraceLimit).toBe(limit);
});
