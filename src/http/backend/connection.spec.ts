/**
 * One connection to a real server on 127.0.0.1, plain and over TLS: the callbacks of a call, and when it is closed.
 */
import { afterEach, expect, it } from '@jest/globals';
import type { Socket } from 'node:net';
import { PooledServer, resetConnection, socketOf, describeWays } from '../../../test/support/pooled-server.js';
import { eventually } from '../../../test/support/processes.js';
import { RecordedCall } from '../../../test/support/recorded-call.js';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';

describeWays('a connection', (isSecure) => {
  let line: PooledServer;
  const start = async (onSocket: (socket: Socket, index: number) => void): Promise<void> => {
    line = await PooledServer.start(isSecure, onSocket);
  };
  afterEach(() => line.stop());

  /** A server that sends the same bytes after each read of a request. */
  const answering = (...pieces: string[]): Promise<void> =>
    start((socket) => {
      socket.on('data', () => {
        for (const piece of pieces) socket.write(piece, 'latin1');
      });
    });

  it('sends requests and delivers their responses one after another', async () => {
    let received = '';
    await start((socket) => socket.on('data', (data) => ((received += data.toString('latin1')), socket.write(OK))));
    for (let time = 0; time < 3; time++) {
      const call = await line.send({ target: '/a?b', fieldLines: 'X-A: caf\u00e9\r\n' }).over;
      expect([call.outcome, call.text, call.sentTimes]).toEqual(['200', 'hello', 1]);
    }
    const host = `localhost:${line.port}`;
    expect(received).toBe(
      `GET /a?b HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive\r\nX-A: caf\u00e9\r\n\r\n`.repeat(3),
    );
    expect(line.sockets).toHaveLength(1);
  });

  it.each([
    ['with a length', OK, 'hello'],
    [
      'in chunks',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x\r\nlo\r\n0\r\nA: b\r\n\r\n',
      'hello',
    ],
    ['without a body', 'HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n', ''],
    ['behind interim ones', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n${OK}`, 'hello'],
  ])('reads a response %s however it is split into packets, and can be reused', async (_what, response, text) => {
    let cut = 0;
    await start((socket) => {
      socket.setNoDelay(true);
      socket.on('data', () => {
        socket.write(response.slice(0, cut));
        setTimeout(() => socket.write(response.slice(cut)), 2);
      });
    });
    for (cut = 1; cut < response.length; cut += cut % 3 === 0 ? 5 : 1) {
      const call = await line.send().over;
      expect([cut, call.outcome, call.text]).toEqual([cut, response.includes(' 204 ') ? '204' : '200', text]);
      expect(call.interim).toEqual(response.includes(' 103 ') ? [100, 103] : []);
      expect(call.trailerText).toBe(response.includes('0\r\nA: b') ? 'A: b\r\n' : '');
    }
    expect(line.sockets).toHaveLength(1);
  });

  it('reads a response that arrives byte by byte', async () => {
    await start((socket) => {
      socket.setNoDelay(true);
      socket.once('data', async () => {
        for (const byte of `HTTP/1.1 103 Early Hints\r\n\r\n${OK}`) {
          socket.write(byte);
          await new Promise(setImmediate);
        }
      });
    });
    const call = await line.send().over;
    expect([call.outcome, call.text, call.interim]).toEqual(['200', 'hello', [103]]);
  });

  it('delivers a large response completely, piece by piece', async () => {
    const body = Buffer.from(Array.from({ length: 1_000_000 }, (_each, index) => (index * 7919) >> 5));
    await start((socket) =>
      socket.on('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
        socket.write(body);
      }),
    );
    for (let time = 0; time < 2; time++) {
      const call = await line.send().over;
      expect(Buffer.concat(call.pieces).equals(body)).toBe(true);
    }
    expect(line.sockets).toHaveLength(1);
  });

  it.each([
    ['bytes behind the body', `${OK}X`],
    ['a second answer', OK + OK],
    ['a body of an answer to HEAD', OK, 'HEAD'],
    ['a body of a 204', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello'],
    ['bytes behind the last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n\r\n'],
    [
      'bytes behind the rest of a body',
      ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe', 'lloHTTP/1.1 200 Poisoned\r\n\r\n'],
    ],
  ])('is closed after %s, and the next call gets its own response', async (_what, response, method = 'GET') => {
    await start((socket) =>
      socket.on('data', async () => {
        for (const piece of [response].flat()) {
          socket.write(piece);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      }),
    );
    const first = await line.send({ method }).over;
    expect(first.outcome).toMatch(/^20[04]$/);
    const second = await line.send({ method }).over;
    expect(second.outcome).toBe(first.outcome);
    expect(line.sockets).toHaveLength(2);
  });

  it('is closed by data that arrives while no request is open', async () => {
    await answering(OK);
    await line.send().over;
    line.sockets[0]?.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n');
    await eventually('it is closed', () => line.counts.open === 0);
    expect((await line.send().over).outcome).toBe('200');
    expect(line.sockets).toHaveLength(2);
  });

  it.each([
    ['garbage', 'SSH-2.0-OpenSSH_9\r\n\r\n', 'TRAILGATE_BAD_ANSWER'],
    [
      'a head that is too large',
      `HTTP/1.1 200 OK\r\nA: ${'b'.repeat(70_000)}\r\n\r\n`,
      'TRAILGATE_ANSWER_HEAD_TOO_LARGE',
    ],
    ['a head without an end', `HTTP/1.1 200 OK\r\nA: ${'b'.repeat(200_000)}`, 'TRAILGATE_ANSWER_HEAD_TOO_LARGE'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n', 'TRAILGATE_BAD_ANSWER'],
    ['a chunk that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n', 'TRAILGATE_BAD_ANSWER'],
    [
      'a trailer that is none',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx\r\n\r\n',
      'TRAILGATE_BAD_ANSWER',
    ],
  ])('is closed by %s', async (_what, response, code) => {
    await answering(response);
    expect((await line.send().over).outcome).toBe(code);
    expect(line.counts.open).toBe(0);
  });

  it.each([
    ['before an answer', ''],
    ['in a head', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['behind an interim answer', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['behind a head', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'],
    ['in a body', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell'],
    ['in a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhell'],
    ['before the last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'],
    ['in the last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n'],
  ])('that ends %s fails its call', async (_what, response) => {
    await start((socket) => socket.once('data', () => socket.end(response)));
    expect((await line.send().over).error).toBe('TRAILGATE_BACKEND_CLOSED');
  });

  it.each([
    '',
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.1 200 OK\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello',
  ])('that is reset after %j fails its call', async (response) => {
    await start((socket) =>
      socket.once('data', () => socket.write(response, () => setTimeout(() => resetConnection(socket), 5))),
    );
    expect((await line.send().over).error).toBe('ECONNRESET');
  });

  it('that ends completes a body without a length', async () => {
    await start((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.0 200 OK\r\n\r\nhel');
        setTimeout(() => socket.end('lo'), 5);
      });
    });
    const call = await line.send().over;
    expect([call.outcome, call.text]).toEqual(['200', 'hello']);
  });

  it('stops reading while its call is paused, and delivers everything afterwards', async () => {
    const size = 8_000_000;
    await start((socket) =>
      socket.on('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
        socket.write(Buffer.alloc(size));
      }),
    );
    let pauses = 0;
    let lateBytes = 0;
    let isPaused = false;
    const paused = line.send({}, (event, call) => {
      if (event !== 'data') return;
      if (isPaused) lateBytes += call.pieces.at(-1)?.length ?? 0;
      if (isPaused || pauses === 3) return;
      isPaused = true;
      call.sending?.pause(call);
      setTimeout(() => {
        pauses++;
        isPaused = false;
        call.sending?.resume(call);
      }, 50);
    });
    await paused.over;
    expect(Buffer.concat(paused.pieces)).toHaveLength(size);
    expect(pauses).toBe(3);
    // Data that TLS has already decrypted is still delivered.
    expect(lateBytes).toBeLessThan(300_000);
    expect((await line.send().over).outcome).toBe('200');
    expect(line.sockets).toHaveLength(1);
  });

  it('that is paused at the end of a response reads the next one', async () => {
    await answering('HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n', 'x'.repeat(20_000));
    for (let time = 0; time < 3; time++) {
      const call = line.send({}, (_event, { sending, text }) => {
        if (text.length === 20_000) sending?.pause(call);
      });
      expect((await call.over).text).toHaveLength(20_000);
    }
    expect(line.sockets).toHaveLength(1);
  });

  it.each(['connection', 'head', 'data', 'end'] as const)(
    'that is aborted at "%s" reports it once, and is closed',
    async (when) => {
      await start((socket) =>
        socket.on('data', () => {
          socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n');
          setTimeout(() => socket.write('1\r\nc\r\n0\r\n\r\n'), 5);
        }),
      );
      const call = line.send({}, (event, { sending }) => {
        if (event === when) sending?.abort(call, new Error('enough'));
      });
      await call.over;
      // After the end there is nothing left to abort.
      expect(call.outcome).toBe(when === 'end' ? '200' : 'enough');
      expect(call.text).toBe({ connection: '', head: '', data: 'a', end: 'abc' }[when]);
      expect((await line.send().over).outcome).toBe('200');
      expect(socketOf(call).destroyed).toBe(when !== 'end');
    },
  );

  it('passes errors of a callback to `onError`, and is closed', async () => {
    await answering(OK);
    for (const when of ['head', 'data', 'end'] as const) {
      const call = new RecordedCall();
      call.on = (event) => {
        if (event === when) throw new Error(`at ${when}`);
      };
      line.pool.dispatch(call);
      await call.over;
      await eventually('it has its error', () => call.error === `at ${when}`);
    }
    expect((await line.send().over).outcome).toBe('200');
  });
});
