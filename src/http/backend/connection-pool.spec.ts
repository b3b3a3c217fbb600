/**
 * Pool of connections to one server, plain and over TLS: number, order and lifetime of connections. No call is lost.
 */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { localCertificate } from '../../../test/support/certificates.js';
import { describeWithOpenssl } from '../../../test/support/describe-with.js';
import { PooledServer, resetConnection, socketOf, describeWays } from '../../../test/support/pooled-server.js';
import { eventually, sleep } from '../../../test/support/processes.js';
import { RecordedCall } from '../../../test/support/recorded-call.js';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
const NOTHING = { open: 0, idle: 0, connecting: 0, queue: 0 };

const respondToAll = (socket: Socket): void => void socket.on('data', () => socket.write(OK));
/** Responds only once this many calls have arrived, so that each of them needs its own connection. */
const respondTogether = (connections: number): ((socket: Socket) => void) => {
  const waiting: Socket[] = [];
  let calls = 0;
  return (socket) =>
    void socket.on('data', () => {
      waiting.push(socket);
      if (++calls >= connections) for (const each of waiting.splice(0)) each.write(OK);
    });
};
/** Simulates a process that was blocked for this time, as in a long garbage collection. */
const simulateBlocking = (ms: number): void => {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + ms);
};

describeWays('the connections to a server', (isSecure) => {
  let line: PooledServer;
  const start = async (
    onSocket: (socket: Socket, index: number) => void,
    maxConnections = 1,
    options = {},
  ): Promise<void> => {
    line = await PooledServer.start(isSecure, onSocket, maxConnections, options);
  };
  afterEach(() => line.stop());

  it('never exceed the limit, and queued calls are served in order', async () => {
    const order: string[] = [];
    await start(
      (socket) =>
        socket.on('data', (data) => {
          order.push(data.toString('latin1').split(' ')[1] ?? '');
          setTimeout(() => socket.write(OK), 2);
        }),
      3,
    );
    const calls = Array.from({ length: 40 }, (_each, index) => line.send({ target: `/${index}` }));
    expect(line.counts).toEqual({ open: 3, idle: 0, connecting: 3, queue: 40 });
    await Promise.all(calls.map(({ over }) => over));
    expect(calls.every(({ outcome }) => outcome === '200')).toBe(true);
    expect(line.sockets).toHaveLength(3);
    expect(line.counts).toEqual({ ...NOTHING, open: 3, idle: 3 });
    // Three calls run at a time, and the server decides which of them ends first.
    expect(order.every((target, index) => Math.abs(Number(target.slice(1)) - index) < 3)).toBe(true);
  });

  it('are reused last in, first out, so that surplus ones expire', async () => {
    await start(respondTogether(5), 5);
    await Promise.all(Array.from({ length: 5 }, () => line.send().over));
    const used = new Set<Socket>();
    for (let time = 0; time < 10; time++) used.add(socketOf(await line.send().over));
    expect(used.size).toBe(1);
    expect(line.counts.idle).toBe(5);
  });

  it('are closed after their idle timeout', async () => {
    await start(respondTogether(2), 2, { idleMs: 100 });
    await Promise.all([line.send().over, line.send().over]);
    await eventually('they are closed', () => line.sockets.every(({ destroyed }) => destroyed));
    expect(line.counts).toEqual(NOTHING);
    expect((await line.send().over).outcome).toBe('200');
  });

  it.each([
    ['timeout=1', 2],
    ['timeout=60', 1],
    ['max=3', 1],
  ])('are kept for as long as the server allows: Keep-Alive: %s', async (value, connections) => {
    const response = `HTTP/1.1 200 OK\r\nKeep-Alive: ${value}\r\nContent-Length: 0\r\n\r\n`;
    await start((socket) => socket.on('data', () => socket.write(response)));
    for (let time = 0; time < 2; time++) expect((await line.send().over).outcome).toBe('200');
    expect(line.sockets).toHaveLength(connections);
  });

  it.each([
    ['HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello', 2],
    ['HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello', 1],
    ['HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello', 2],
  ])('are reused only if the response allows it: %j', async (response, connections) => {
    await start((socket) => socket.on('data', () => socket.write(response)));
    for (let time = 0; time < 2; time++) expect((await line.send().over).text).toBe('hello');
    expect(line.sockets).toHaveLength(connections);
  });

  it('are replaced when one breaks, however it breaks', async () => {
    await start((socket, index) => {
      socket.on('data', () => {
        if (index % 4 === 0) resetConnection(socket);
        else if (index % 4 === 1) socket.end();
        else if (index % 4 === 2) socket.write('garbage\r\n\r\n');
        else socket.write(`${OK}more`);
      });
    }, 2);
    const calls = await Promise.all(Array.from({ length: 24 }, () => line.send().over));
    const outcomes = new Set(calls.map(({ outcome }) => outcome));
    expect(outcomes).toEqual(new Set(['ECONNRESET', 'TRAILGATE_BACKEND_CLOSED', 'TRAILGATE_BAD_ANSWER', '200']));
    expect(line.sockets).toHaveLength(24);
    await eventually('none is left', () => line.counts.open === 0);
    expect(line.counts).toEqual(NOTHING);
  });

  it('that the server has closed are not reused', async () => {
    await start(respondTogether(3), 3);
    await Promise.all([line.send().over, line.send().over, line.send().over]);
    for (const socket of line.sockets) socket.end();
    await eventually('they are closed', () => line.counts.open === 0);
    expect((await line.send().over).outcome).toBe('200');
  });

  it('that turn out to be closed also close all idle ones, so that an immediate retry opens a new one', async () => {
    await start(respondTogether(3), 3);
    await Promise.all([line.send().over, line.send().over, line.send().over]);
    const retried = new RecordedCall();
    line.calls.push(retried);
    // The server has closed it, and it is reused before this process has read the close.
    for (const socket of line.sockets) resetConnection(socket);
    const stale = line.send({}, (event) => {
      if (event === 'error') line.pool.dispatch(retried);
    });
    expect(['ECONNRESET', 'EPIPE', 'TRAILGATE_BACKEND_CLOSED']).toContain((await stale.over).error);
    expect((await retried.over).outcome).toBe('200');
    expect(line.sockets).toHaveLength(4);
  });

  it('serve other calls when a queued call is canceled', async () => {
    await start(respondToAll);
    const cancelled = new RecordedCall();
    line.pool.dispatch(cancelled);
    line.pool.cancel(cancelled);
    line.pool.cancel(cancelled);
    const other = line.send();
    expect(line.counts).toEqual({ open: 1, idle: 0, connecting: 1, queue: 1 });
    expect((await other.over).outcome).toBe('200');
    expect([cancelled.ends, cancelled.sending]).toEqual([0, undefined]);
    expect(line.sockets).toHaveLength(1);
  });

  it('are closed after their calls when the pool is closed, and new calls are rejected', async () => {
    await start((socket) => socket.on('data', () => setTimeout(() => socket.write(OK), 50)), 2);
    await Promise.all([line.send().over, line.send().over]);
    const calls = Array.from({ length: 5 }, () => line.send());
    let isClosed = false;
    const closed = line.pool.close().then(() => (isClosed = true));
    expect((await line.send().over).error).toBe('TRAILGATE_POOL_CLOSED');
    await calls[3]?.over;
    expect(isClosed).toBe(false);
    await Promise.all([closed, ...calls.map(({ over }) => over)]);
    expect(calls.map(({ outcome }) => outcome)).toEqual(Array(5).fill('200'));
    expect(line.counts).toEqual(NOTHING);
    await line.pool.close();
  });

  it.each(['connecting', 'waiting for an answer', 'reading', 'idle'])(
    'are destroyed with the pool while %s',
    async (phase) => {
      await start((socket) =>
        socket.on('data', () => {
          if (phase === 'reading') socket.write('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello');
          else if (phase === 'idle') socket.write(OK);
        }),
      );
      const call = line.send();
      const waiting = line.send();
      if (phase === 'waiting for an answer') await eventually('it is sent', () => call.sentTimes === 1);
      if (phase === 'reading') await eventually('it is answered', () => call.head !== undefined);
      if (phase === 'idle') await waiting.over;
      await line.pool.destroy();
      expect(call.outcome).toBe(phase === 'idle' ? '200' : 'TRAILGATE_POOL_CLOSED');
      expect(waiting.outcome).toBe(phase === 'idle' ? '200' : 'TRAILGATE_POOL_CLOSED');
      expect(line.counts).toEqual(NOTHING);
      await line.pool.destroy();
    },
  );

  it('serve a call that is sent from the error callback of another call', async () => {
    await start((socket, index) => (index < 3 ? resetConnection(socket) : respondToAll(socket)), 2);
    const calls: RecordedCall[] = [];
    const again = (): void => {
      calls.push(
        line.send({}, (event) => {
          if (event === 'error' && calls.length < 10) again();
        }),
      );
    };
    again();
    await eventually('one is answered', () => calls.some(({ head }) => head !== undefined));
    expect(line.counts.queue).toBe(0);
  });
});

describe('connections', () => {
  let line: PooledServer;
  afterEach(async () => {
    jest.restoreAllMocks();
    await line.stop();
  });

  it('that were idle while this process was blocked are not reused, so that requests arrive', async () => {
    line = await PooledServer.start(false, respondTogether(2), 2);
    await Promise.all([line.send().over, line.send().over]);
    for (const socket of line.sockets) socket.end();
    simulateBlocking(1_600);
    // A POST cannot be retried, so it must not go out on one of these connections.
    expect((await line.send({ method: 'POST' }).over).outcome).toBe('200');
    expect(line.sockets).toHaveLength(3);
  });

  it('that were idle while this process was blocked are closed when it continues', async () => {
    line = await PooledServer.start(false, respondTogether(2), 2);
    await Promise.all([line.send().over, line.send().over]);
    simulateBlocking(1_600);
    await eventually('they are closed', () => line.counts.open === 0);
    expect(line.counts).toEqual(NOTHING);
  });
});

describeWithOpenssl('connections over TLS', () => {
  const isSecure = true;
  const seen: { servername: unknown; alpn: unknown; isReused: boolean }[] = [];
  const recordHandshake = (socket: Socket): void => {
    const secure = socket as TLSSocket;
    seen.push({
      servername: (secure as { servername?: unknown }).servername,
      alpn: secure.alpnProtocol,
      isReused: secure.isSessionReused(),
    });
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'));
  };
  let line: PooledServer;
  afterEach(async () => {
    seen.splice(0);
    await line.stop();
  });

  it('send server name and HTTP/1.1, and resume the previous TLS session', async () => {
    line = await PooledServer.start(isSecure, recordHandshake, 1, { server: { ALPNProtocols: ['h2', 'http/1.1'] } });
    for (let time = 0; time < 3; time++) {
      await line.send().over;
      await sleep(20);
    }
    expect(seen.map(({ servername, alpn }) => [servername, alpn])).toEqual(Array(3).fill(['localhost', 'http/1.1']));
    expect(seen.map(({ isReused }) => isReused)).toEqual([false, true, true]);
  });

  it('do not resume a session that was made with other certificates', async () => {
    line = await PooledServer.start(isSecure, recordHandshake);
    await line.send().over;
    await sleep(20);
    line.tls = { ca: localCertificate().cert };
    await line.send().over;
    expect(seen.map(({ isReused }) => isReused)).toEqual([false, false]);
  });

  it('fail if the certificate is not trusted or belongs to another host', async () => {
    line = await PooledServer.start(isSecure, recordHandshake);
    line.tls = {};
    expect((await line.send().over).error).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
    line.tls = { ca: localCertificate().cert, servername: 'elsewhere.test' };
    expect((await line.send().over).error).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  });
});
