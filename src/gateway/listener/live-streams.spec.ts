/** When open streams are checked after a change of a key or an account. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Invalidation, InvalidationBus } from '../../keys/api-key.js';
import type { Authenticator } from '../../keys/authenticator.js';
import type { LiveCall } from '../../proxy/targets/pending-call.js';
import { Exchange } from '../request/exchange.js';
import { LiveStreams } from './live-streams.js';

describe('LiveStreams', () => {
  let calls: LiveCall[];
  let barred: string[];
  let publish: (change: Invalidation) => void;
  let live: LiveStreams;

  beforeEach(() => {
    jest.useFakeTimers();
    calls = [];
    barred = [];
    const refused = { recheck: async () => ({ code: 'revoked_api_key' }) } as unknown as Authenticator;
    live = new LiveStreams(() => calls, refused);
    live.followChanges({ subscribe: (listener: typeof publish) => (publish = listener) } as unknown as InvalidationBus);
  });
  afterEach(() => {
    live.stop();
    jest.useRealTimers();
  });

  const changeOf = (accountId: string, keyId: string): Invalidation => ({ type: 'api_key', accountId, keyId });

  function callOf(accountId: string, keyId: string, startedMs = 0): LiveCall {
    const key = { record: { keyId, hash: keyId, accountId } };
    const client = Object.assign(Object.create(Exchange.prototype) as Exchange, {
      key,
      operation: { scopes: [] },
      startedMs,
    });
    const revokeAccess = () => {
      barred.push(keyId);
      return 'response';
    };
    return { accountId, startedMs, request: { client }, revokeAccess } as unknown as LiveCall;
  }

  it('checks again half a second after each change, whatever changed before', async () => {
    publish(changeOf('acc_1', 'key_1'));
    await jest.advanceTimersByTimeAsync(490);
    publish(changeOf('acc_2', 'key_2'));
    await jest.advanceTimersByTimeAsync(20);
    // Admitted before the change, but sent to its backend only now.
    calls = [callOf('acc_2', 'key_2')];
    await jest.advanceTimersByTimeAsync(300);
    expect(barred).toEqual([]);
    await jest.advanceTimersByTimeAsync(300);
    expect(barred).toEqual(['key_2']);
  });

  it('checks streams older than a second every ten seconds, without any message', async () => {
    await jest.advanceTimersByTimeAsync(8_500);
    calls = [callOf('acc_1', 'key_1', performance.now())];
    await jest.advanceTimersByTimeAsync(1_000);
    calls.push(callOf('acc_1', 'key_2', performance.now()));
    expect(barred).toEqual([]);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(barred).toEqual(['key_1']);
    calls.shift();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(barred).toEqual(['key_1', 'key_2']);
  });

  it('checks only the streams of the changed key or account, at once', async () => {
    calls = [callOf('acc_1', 'key_1'), callOf('acc_1', 'key_2'), callOf('acc_2', 'key_3')];
    publish(changeOf('acc_1', 'key_1'));
    await jest.advanceTimersByTimeAsync(1);
    expect(barred).toEqual(['key_1']);
  });
});
