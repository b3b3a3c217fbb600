/** Responses written in one piece, on real sockets. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { localCertificate } from '../../../test/support/certificates.js';
import { wholeHead, writeEncrypted, writeJoined } from './whole-response.js';

const SMALL = 1_000;
const HELD = 15_000;
const LARGE = 50_000;

let server: Server;
let sockets: Socket[];

beforeEach(async () => {
  sockets = [];
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

/** Both ends of a connection. */
async function pair(): Promise<{ near: Socket; far: Socket }> {
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [near] = (await once(server, 'connection')) as [Socket];
  sockets.push(near, far);
  return { near, far };
}

async function read(far: Socket, bytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of far.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    pieces.push(piece);
    length += piece.length;
    if (length >= bytes) break;
  }
  return Buffer.concat(pieces);
}

describe('a complete response', () => {
  it('has a status line, its fields, the connection fields and an empty line', () => {
    expect(wholeHead(418, 'A: b\r\n', 'Connection: close\r\n')).toBe(
      "HTTP/1.1 418 I'm a Teapot\r\nA: b\r\nConnection: close\r\n\r\n",
    );
    expect(wholeHead(299, '', '')).toBe('HTTP/1.1 299 unknown\r\n\r\n');
  });

  it.each([
    ['a text', 't\xe9xt'],
    ['nothing', Buffer.alloc(0)],
    ['bytes', Buffer.alloc(SMALL, 0xe9)],
    ['more bytes than are put together in one place', Buffer.alloc(LARGE, 0xe9)],
  ])('with %s arrives byte for byte', async (_what, body) => {
    const { near, far } = await pair();
    writeJoined(near, 'head \xe9\r\n', body);
    const expected = Buffer.concat([Buffer.from('head \xe9\r\n', 'latin1'), Buffer.from(body as string, 'latin1')]);
    expect(await read(far, expected.length)).toEqual(expected);
  });

  it('that its client does not read is not overwritten by the next one', async () => {
    const slow = await pair();
    slow.far.pause();
    let written = 0;
    let sum = '';
    for (let code = 0; slow.near.writableLength === 0; code = (code + 1) % 26) {
      const letter = String.fromCharCode(97 + code);
      writeJoined(slow.near, 'head', Buffer.alloc(HELD, letter));
      sum += letter;
      written += HELD + 4;
    }
    const quick = await pair();
    writeJoined(quick.near, 'head', Buffer.alloc(HELD, 'X'));
    expect((await read(quick.far, HELD)).toString().slice(0, 10)).toBe('headXXXXXX');
    const text = (await read(slow.far, written)).toString();
    expect(text).toBe([...sum].map((letter) => `head${letter.repeat(HELD)}`).join(''));
  });
});

describe('complete responses over TLS', () => {
  let tls: Server;
  beforeEach(async () => {
    tls = createTlsServer(localCertificate());
    tls.listen(0, '127.0.0.1');
    await once(tls, 'listening');
  });
  afterEach(() => void tls.close());

  // Each response reuses the buffer of the previous one, so Node must have copied that.
  it.each([
    ['each behind the end of the one before', true],
    ['all at once', false],
  ])('arrive byte for byte, %s, however slowly they are read', async (_how, waits) => {
    const accepted = once(tls, 'secureConnection');
    const far = connectTls({
      port: (tls.address() as AddressInfo).port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
    });
    const [near] = (await accepted) as [TLSSocket];
    sockets.push(near, far);
    const bodies = Array.from({ length: 600 }, (_, index) => {
      if (index % 7 === 0) return `text ${index}`;
      return Buffer.alloc(index % 11 === 0 ? LARGE : HELD, index % 256);
    });
    const whole = Buffer.concat(bodies.flatMap((body) => [Buffer.from('head\r\n'), Buffer.from(body as string)]));
    const received = read(far, whole.length);
    far.pause();
    setTimeout(() => far.resume(), 50);
    let ends = 0;
    for (const body of bodies) {
      const end = new Promise<void>((resolve) => {
        writeEncrypted(near, 'head\r\n', body, (error) => {
          if (error === null || error === undefined) ends++;
          resolve();
        });
      });
      if (waits) await end;
    }
    expect((await received).equals(whole)).toBe(true);
    expect(ends).toBe(bodies.length);
  });
});
