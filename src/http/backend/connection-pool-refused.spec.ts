/** Servers that cannot be connected to: each call fails once and in time, and the pool keeps working. */
import { describe, expect, it } from '@jest/globals';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { RecordedCall } from '../../../test/support/recorded-call.js';
import { ConnectionPool } from './connection-pool.js';
import { Connector } from './connector.js';

describe('a server that cannot be connected to', () => {
  const poolOf = (options: Partial<ConstructorParameters<typeof Connector>[0]>, maxConnections = 2): ConnectionPool =>
    new ConnectionPool(
      new Connector({ origin: 'http://127.0.0.1:1', timeoutMs: 200, lookup: undefined, tls: () => ({}), ...options }),
      { host: 'a', maxConnections, idleMs: 4_000 },
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

  it('fails each call once, and the pool keeps working', async () => {
    const pool = poolOf({});
    for (let time = 0; time < 3; time++) settledAlike(await sendAll(pool, 7), 'ECONNREFUSED');
    await pool.close();
  });

  it('has a name that cannot be resolved', async () => {
    const lookup = ((_host: string, _options: object, callback: (error: Error) => void) =>
      callback(Object.assign(new Error(), { code: 'ENOTFOUND' }))) as never;
    const pool = poolOf({ origin: 'http://backend.invalid', lookup });
    settledAlike(await sendAll(pool, 5), 'ENOTFOUND');
    await pool.close();
  });

  it('never responds: each call fails after the connect timeout', async () => {
    // A name that is never resolved behaves like an address that drops packets.
    const pool = poolOf({ origin: 'http://backend.invalid', lookup: (() => {}) as never });
    const startedMs = performance.now();
    settledAlike(await sendAll(pool, 2), 'TRAILGATE_CONNECT_TIMEOUT');
    expect(performance.now() - startedMs).toBeGreaterThan(190);
    await pool.close();
  });

  it('accepts the connection but never starts TLS', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const pool = poolOf({ origin: `https://127.0.0.1:${(silent.address() as AddressInfo).port}` });
    settledAlike(await sendAll(pool, 2), 'TRAILGATE_CONNECT_TIMEOUT');
    await pool.close();
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('has unusable TLS options: every call fails at once', async () => {
    const pool = poolOf({ origin: 'https://127.0.0.1:1', tls: () => ({ key: 'no key', cert: 'no certificate' }) });
    for (let time = 0; time < 3; time++) {
      const calls = await sendAll(pool, 5);
      expect(calls.map(({ ends, error }) => [ends, error?.startsWith('ERR_OSSL')])).toEqual(Array(5).fill([1, true]));
    }
    await pool.close();
    await pool.destroy();
  });
});
