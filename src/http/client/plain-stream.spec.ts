/** Responses of known length that the gateway writes piece by piece. On real sockets, plain and over TLS. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlainServer, waitUntil, type Served } from '../../../test/support/plain-server.js';
import type { ResponseStream } from './client-response.js';

const PIECE_BYTES = 64 * 1024;
const HEAD_END = '\r\n\r\n';

let line: PlainServer;
afterEach(() => line.stop());

describe.each([
  ['over TCP', false],
  ['over TLS', true],
])('%s, a response in pieces', (_over, isEncrypted) => {
  let drains: number;
  beforeEach(async () => {
    drains = 0;
    line = await PlainServer.start(isEncrypted);
    line.isPrompt = false;
  });

  const begin = (served: Served | undefined, bytes: number): ResponseStream =>
    served!.connection.openStream(200, `Content-Length: ${bytes}\r\n`, () => void drains++);
  const piece = (letter: string, bytes = PIECE_BYTES): Buffer => Buffer.alloc(bytes, letter);
  const asked = async (path = '/large') => {
    const client = line.connect();
    client.get(path);
    await waitUntil(() => line.served.length > 0);
    return client;
  };

  it('contains its pieces as they were when written, and the connection continues', async () => {
    const client = await asked();
    const stream = begin(line.served[0], 2 * PIECE_BYTES + 3);
    const buffer = piece('a');
    stream.write(buffer);
    // The next read reuses the same buffer.
    buffer.fill('b');
    stream.write(buffer);
    buffer.fill('c');
    stream.write(buffer.subarray(0, 3));
    buffer.fill('d');
    stream.end();
    await client.sees(`${'a'.repeat(PIECE_BYTES)}${'b'.repeat(PIECE_BYTES)}ccc`);
    await waitUntil(() => line.served[0]?.status === 200);
    expect(client.text.slice(0, client.text.indexOf(HEAD_END))).toBe(
      `HTTP/1.1 200 OK\r\nContent-Length: ${2 * PIECE_BYTES + 3}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=65`,
    );
    line.isPrompt = true;
    client.get('/next');
    await client.sees('hand /next');
    expect(line.nodes).toEqual([]);
  });

  it('sends its head before the first piece after `flush`', async () => {
    const client = await asked();
    const stream = begin(line.served[0], 1);
    await line.settled();
    expect(client.text).toBe('');
    stream.flush();
    await client.sees(HEAD_END);
    stream.write(Buffer.from('x'));
    stream.end();
    await client.sees(`${HEAD_END}x`);
  });

  it('delays a request that arrives during it', async () => {
    const client = await asked('/first');
    const stream = begin(line.served[0], 8);
    stream.write(Buffer.from('half'));
    await client.sees('half');
    line.isPrompt = true;
    client.get('/second');
    await line.settled();
    expect(line.served).toHaveLength(1);
    expect(line.nodes).toEqual([]);
    stream.write(Buffer.from('rest'));
    stream.end();
    await client.sees('halfrest', 'hand /second');
    client.get('/third');
    await client.sees('hand /third');
    expect(line.nodes).toEqual([]);
  });

  it('hands two requests that arrive during it over to Node afterwards', async () => {
    const client = await asked('/first');
    const stream = begin(line.served[0], 4);
    stream.flush();
    await client.sees(HEAD_END);
    client.send('GET /second HTTP/1.1\r\nHost: h\r\n\r\nGET /third HTTP/1.1\r\nHost: h\r\n\r\n');
    await line.settled();
    stream.write(Buffer.from('done'));
    stream.end();
    await client.sees('done', 'node /second', 'node /third');
  });

  it('is not written faster than its client reads', async () => {
    const client = await asked();
    client.socket.pause();
    const pieces = 400;
    const stream = begin(line.served[0], pieces * PIECE_BYTES);
    const full = piece('x');
    let written = 0;
    const write = async (): Promise<void> => {
      while (written < pieces) {
        const before = drains;
        written++;
        if (!stream.write(full)) await waitUntil(() => drains > before);
      }
      stream.end();
    };
    const writing = write();
    // The kernel buffers on both sides fill up first.
    for (let before = -1; before !== written; await sleep(50)) before = written;
    expect(written).toBeLessThan(pieces);
    client.socket.resume();
    await writing;
    await waitUntil(
      () => client.text.length - client.text.indexOf(HEAD_END) - HEAD_END.length === pieces * PIECE_BYTES,
    );
    await waitUntil(() => line.served[0]?.status === 200);
  });

  it('ends with its connection when the client leaves, and nothing more is written', async () => {
    const client = await asked();
    const stream = begin(line.served[0], 100 * PIECE_BYTES);
    stream.write(piece('x'));
    await client.sees(HEAD_END);
    client.reset();
    await waitUntil(() => line.served[0]?.status === 0);
    expect(stream.write(piece('y'))).toBe(true);
    stream.end();
    expect(line.served[0]?.status).toBe(0);
  });

  it('is cut when it is destroyed, and never looks complete', async () => {
    const client = await asked();
    const stream = begin(line.served[0], 100);
    stream.write(Buffer.from('some'));
    await client.sees('some');
    line.served[0]!.connection.destroy();
    await waitUntil(() => client.isEnded);
    expect(client.text.endsWith('some')).toBe(true);
    expect(line.served[0]?.status).toBe(0);
  });

  it('that is the last one has Connection: close, and ends the connection', async () => {
    const client = line.connect();
    client.get('/last', 'Connection: close\r\n');
    await waitUntil(() => line.served.length > 0);
    const stream = begin(line.served[0], 4);
    stream.write(Buffer.from('done'));
    stream.end();
    await waitUntil(() => client.isEnded);
    expect(client.text).toContain('Connection: close\r\n');
    expect(client.text.endsWith('done')).toBe(true);
  });
});
