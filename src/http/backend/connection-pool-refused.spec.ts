/** Connections that cannot be had: each call hears of it once, in time, and the pool goes on. */
import { describe, expect, it } from '@jest/globals';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { RecordedCall } from '../../../test/support/recorded-call.js';
import { ConnectionPool } from './connection-pool.js';
import { Connector } from './connector.js';

describe('a server that cannot be connected to', () => {
  const poolOf = (options: Partial<ConstructorParameters<typeof Connector>[0]>, most = 2): ConnectionPool =>
    new ConnectionPool(
      new Connector({ origin: 'http://127.0.0.1:1', timeoutMs: 200, lookup: undefined, tls: () => ({}), ...options }),
      { host: 'a', most, idleMs: 4_000 },
    );
  const sendAll = (pool: ConnectionPool, count: number): Promise<RecordedCall[]> => {
    const calls = Array.from({ length: count }, () => new RecordedCall());
    for (const call of calls) pool.dispatch(call);
    return Promise.all(calls.map(({ over }) => over));
  };
  const settledAlike = (calls: RecordedCall[], outcome: string): void => {
    const seen = calls.map((call) => [call.outcome, call.ends, call.breaches.length, call.sending]);
    if (seen.some((one) => JSON.stringify(one) !== JSON.stringify([outcome, 1, 0, undefined]))) {
      throw new Error(JSON.stringify(seen));
    }
  };

  it('refuses each call once, and the pool goes on', async () => {
    const pool = poolOf({});
    for (let time = 0; time < 3; time++) settledAlike(await sendAll(pool, 7), 'ECONNREFUSED');
    await pool.close();
  });

  it('has a name that leads nowhere', async () => {
    const lookup = ((_host: string, _options: object, callback: (error: Error) => void) =>
      callback(Object.assign(new Error(), { code: 'ENOTFOUND' }))) as never;
    const pool = poolOf({ origin: 'http://backend.invalid', lookup });
    settledAlike(await sendAll(pool, 5), 'ENOTFOUND');
    await pool.close();
  });

  it('never answers: each call ends in the time for connecting', async () => {
    // A name that is never resolved is as good as an address that swallows packets.
    const pool = poolOf({ origin: 'http://backend.invalid', lookup: (() => {}) as never });
    const startedMs = performance.now();
    settledAlike(await sendAll(pool, 2), 'TRAILGATE_CONNECT_TIMEOUT');
    expect(performance.now() - startedMs).toBeGreaterThan(190);
    await pool.close();
  });

  it('accepts, and says nothing of TLS', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const pool = poolOf({ origin: `https://127.0.0.1:${(silent.address() as AddressInfo).port}` });
    settledAlike(await sendAll(pool, 2), 'TRAILGATE_CONNECT_TIMEOUT');
    await pool.close();
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('has options of TLS that cannot be used: each call fails, at once, and none is forgotten', async () => {
    const pool = poolOf({ origin: 'https://127.0.0.1:1', tls: () => ({ key: 'no key', cert: 'no certificate' }) });
    for (let time = 0; time < 3; time++) {
      const calls = await sendAll(pool, 5);
      expect(calls.map(({ ends, error }) => [ends, error?.startsWith('ERR_OSSL')])).toEqual(Array(5).fill([1, true]));
    }
    await pool.close();
    await pool.destroy();
  });
});
