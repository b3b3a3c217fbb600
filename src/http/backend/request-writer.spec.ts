/** Request bodies sent to a real server, plain and over TLS: framing, backpressure, early responses and failures. */
import { afterEach, expect, it } from '@jest/globals';
import type { Socket } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { PooledServer, socketOf, describeWays } from '../../../test/support/pooled-server.js';
import { eventually } from '../../../test/support/processes.js';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';

describeWays('the body of a request', (isSecure) => {
  let line: PooledServer;
  const start = async (onSocket: (socket: Socket, index: number) => void): Promise<void> => {
    line = await PooledServer.start(isSecure, onSocket);
  };
  afterEach(() => line.stop());

  /** Data received on each connection. */
  let received: string[] = [];
  const collecting = (response = (_text: string): string => ''): Promise<void> => {
    received = [];
    return start((socket, index) => {
      received[index] = '';
      socket.on('data', (data) => {
        received[index] += data.toString('latin1');
        socket.write(response(received[index] ?? ''));
      });
    });
  };
  const bodyOf = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4);

  it('is sent with its length', async () => {
    await collecting((text) => (/hello(?:\r\n0\r\n\r\n)?$/.test(text) && !text.endsWith('hello\r\n') ? OK : ''));
    const post = { method: 'POST', fieldLines: 'Content-Length: 5\r\n', bodyBytes: 5 };
    expect(
      (await line.send({ ...post, body: Readable.from([Buffer.from('hel'), Buffer.from('lo')]) }).over).outcome,
    ).toBe('200');
    expect(bodyOf(received[0] ?? '')).toBe('hello');
    await line.pool.destroy();
  });

  it('sent in chunks ends with the last chunk', async () => {
    await collecting((text) => (text.endsWith('0\r\n\r\n') ? OK : ''));
    const body = new PassThrough();
    const call = line.send({ method: 'POST', body });
    body.write('hello');
    await eventually('the chunk is there', () => bodyOf(received[0] ?? '') === '5\r\nhello\r\n');
    expect(call.sentTimes).toBe(0);
    body.end(Buffer.alloc(26, 'x'));
    expect((await call.over).sentTimes).toBe(1);
    expect(received[0]).toMatch(/\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1a\r\nx{26}\r\n0\r\n\r\n$/);
  });

  it('that turns out to be empty is sent as Content-Length: 0', async () => {
    await collecting(() => OK);
    expect((await line.send({ method: 'POST', body: Readable.from([]) }).over).outcome).toBe('200');
    expect((await line.send({ method: 'DELETE', body: Readable.from([]) }).over).outcome).toBe('200');
    expect((await line.send({ method: 'PUT' }).over).outcome).toBe('200');
    const [post = '', remove = '', put = ''] = (received[0] ?? '').split(/(?=DELETE|PUT)/);
    expect([post, put].every((text) => text.endsWith('\r\nContent-Length: 0\r\n\r\n'))).toBe(true);
    expect(`${post}${remove}${put}`).not.toMatch(/Transfer-Encoding/);
    expect(remove).not.toMatch(/Content-Length/);
  });

  it('does not delay the head until its first byte', async () => {
    await collecting((text) => (text.endsWith('hello') ? OK : ''));
    const body = new PassThrough();
    const call = line.send({ method: 'POST', body, bodyBytes: 5, fieldLines: 'Content-Length: 5\r\n' });
    await eventually('the head is there', () => received[0]?.endsWith('\r\n\r\n') === true);
    body.end('hello');
    expect((await call.over).outcome).toBe('200');
  });

  it.each([
    ['too short', 'hell'],
    ['too long', 'hello!'],
  ])('that is %s for its length fails the call', async (_what, text) => {
    await collecting();
    const call = line.send({ method: 'POST', body: Readable.from([Buffer.from(text)]), bodyBytes: 5 });
    expect((await call.over).error).toBe('TRAILGATE_BODY_LENGTH');
  });

  it('that breaks off fails the call and is never completed, even if it broke off before', async () => {
    await collecting();
    const body = new PassThrough();
    const call = line.send({ method: 'POST', body });
    body.write('hello');
    await eventually('the chunk is there', () => received[0]?.endsWith('hello\r\n') === true);
    body.destroy(new Error('gone'));
    expect((await call.over).error).toBe('gone');
    const dead = new PassThrough();
    dead.destroy();
    expect((await line.send({ method: 'POST', body: dead }).over).error).toBe('TRAILGATE_BODY_LENGTH');
    expect(received.join('')).not.toMatch(/0\r\n\r\n$/);
  });

  it('is sent no faster than the server reads it', async () => {
    let isReading = false;
    await start((socket) => {
      socket.pause();
      let bytes = 0;
      let head: number | undefined;
      socket.on('data', (data) => {
        head ??= data.indexOf('\r\n\r\n') + 4;
        bytes += data.length;
        if (bytes === size + head) socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n');
      });
      setTimeout(() => {
        isReading = true;
        socket.resume();
      }, 100);
    });
    const size = 24_000_000;
    let made = 0;
    let madeBefore = 0;
    const body = new Readable({
      read() {
        if (!isReading) madeBefore = made;
        made += 60_000;
        this.push(made <= size ? Buffer.alloc(60_000) : null);
      },
    });
    const call = line.send({ method: 'PUT', body, bodyBytes: size });
    expect((await call.over).outcome).toBe('200');
    expect(madeBefore).toBeLessThan(size / 2);
    expect(call.sentTimes).toBe(1);
  });

  it.each(['close', 'keep-alive'])(
    'is destroyed when the response is an early error (%s), and nothing more is sent',
    async (word) => {
      const refusal = `HTTP/1.1 413 Too Large\r\nConnection: ${word}\r\nContent-Length: 5\r\n\r\nlarge`;
      await collecting(() => refusal);
      const body = new PassThrough();
      const call = line.send({ method: 'POST', body });
      body.write('hello');
      expect((await call.over).text).toBe('large');
      expect(body.destroyed).toBe(true);
      const again = new PassThrough();
      const next = line.send({ method: 'POST', body: again });
      again.write('hello');
      expect((await next.over).outcome).toBe('413');
      expect(line.sockets).toHaveLength(2);
      expect(bodyOf(received[0] ?? '')).toMatch(/^(5\r\nhello\r\n)?$/);
    },
  );

  it.each(['reads no more', 'reads on'])(
    'informs the call if the response of a server that %s arrives before it is sent',
    async (what) => {
      await start((socket) => socket.pause());
      const body = new PassThrough();
      const call = line.send({ method: 'PUT', body });
      await eventually('it is connected', () => line.sockets.length === 1);
      // Until no more data leaves: then everything has been handed over, and only its end is missing.
      while (socketOf(call).writableLength === 0) {
        body.write(Buffer.alloc(8_000));
        await new Promise(setImmediate);
      }
      body.end();
      await eventually('it is handed over', () => call.sentTimes === 1);
      expect(socketOf(call).writableLength).toBeGreaterThan(0);
      line.sockets[0]?.write(OK);
      await eventually('the answer is here', () => call.text === 'hello');
      expect([call.answered, call.isOver]).toEqual([1, false]);
      if (what === 'reads on') line.sockets[0]?.resume();
      else call.sending?.endUpload(call);
      expect([(await call.over).outcome, call.text]).toEqual(['200', 'hello']);
      expect(socketOf(call).destroyed).toBe(what === 'reads no more');
    },
  );

  it('is cut off by a server that closes early, but the response is still delivered', async () => {
    await start((socket) => socket.pause());
    for (let time = 0; time < 10; time++) {
      const body = new PassThrough();
      const call = line.send({ method: 'POST', body });
      body.write(Buffer.alloc(50_000));
      await eventually('it is connected', () => line.sockets.length === time + 1);
      await new Promise((resolve) => setTimeout(resolve, 10));
      const socket = line.sockets[time];
      // Data that the server has not read makes its kernel reset the connection, and the next write fails before the
      // response is read.
      socket?.write('HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge');
      await new Promise<void>((resolve) => (isSecure ? setTimeout(resolve, 5) : resolve()));
      socket?.destroy();
      for (let index = 0; index < 5; index++) body.write(Buffer.alloc(50_000));
      const { outcome, text } = await call.over;
      expect([outcome, text]).toEqual(['413', 'large']);
      expect(body.destroyed).toBe(true);
    }
  });

  it('fails the call if sending fails without a response', async () => {
    await start((socket) => socket.pause());
    const body = new PassThrough();
    const call = line.send({ method: 'POST', body });
    body.write(Buffer.alloc(50_000));
    await eventually('it is connected', () => line.sockets.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 10));
    line.sockets[0]?.destroy();
    for (let index = 0; index < 5; index++) body.write(Buffer.alloc(50_000));
    expect(['TRAILGATE_BACKEND_CLOSED', 'ECONNRESET', 'EPIPE']).toContain((await call.over).error);
  });

  it('leaves no listeners behind', async () => {
    await collecting((text) => (text.endsWith('0\r\n\r\n') ? OK : ''));
    const counts: number[] = [];
    for (let time = 0; time < 30; time++) {
      const body = Readable.from([Buffer.from('hello')]);
      const call = line.send({ method: 'POST', body });
      await call.over;
      const socket = socketOf(call);
      counts.push(socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0));
      expect(body.listenerCount('data') + body.listenerCount('error') + body.listenerCount('close')).toBeLessThan(2);
    }
    expect(line.sockets).toHaveLength(1);
    expect(Math.max(...counts.slice(5))).toBe(counts[5]);
  });
});
