/** Requests with an `Idempotency-Key`, also while the store is unavailable or hangs. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import { TestClock } from '../../test/support/stores.js';
import { Problem } from '../platform/problems/errors.js';
import { MAX_STORED_BYTES } from './storage-budget.js';
import { KeyClaim, Replay } from './key-claim.js';
import { KeyedRequests } from './keyed-requests.js';
import type { ClaimTerms, Claimed, StoredResponse, Outcome, RecordStore, Room } from './record.js';

const NAME = { caller: 'key_1', keyHash: 'hash' };
const RESPONSE: StoredResponse = { status: 201, code: '', lines: '', body: Buffer.from('{}') };

/** Store controlled by the test, which records its calls. */
class ScriptedStore implements RecordStore {
  readonly calls: string[] = [];
  room: Room = 'plenty';
  claimed: Claimed = { state: 'claimed' };
  /** Delays every call. */
  gate: Promise<unknown> = Promise.resolve();

  async claim({ owner }: ClaimTerms): Promise<Claimed> {
    await this.gate;
    this.calls.push(`claim ${owner.length > 0}`);
    return this.claimed;
  }
  async extend(claims: readonly ClaimTerms[]): Promise<void> {
    this.calls.push(`extend ${claims.length}`);
  }
  async end(_claim: ClaimTerms, outcome: Outcome): Promise<boolean> {
    await this.gate;
    this.calls.push(
      outcome.kind === 'done' ? `done ${outcome.status} ${outcome.response?.body.toString()}` : 'unknown',
    );
    return true;
  }
  async release(): Promise<void> {
    await this.gate;
    this.calls.push('release');
  }
  async read(): Promise<StoredResponse | undefined> {
    await this.gate;
    return RESPONSE;
  }
  close(): void {
    this.calls.push('close');
  }
}

describe('requests with a key', () => {
  let store: ScriptedStore;
  let clock: TestClock;
  let requests: KeyedRequests;
  beforeEach(() => {
    jest.useFakeTimers();
    store = new ScriptedStore();
    clock = new TestClock();
    requests = new KeyedRequests(store, clock, pino({ level: 'silent' }));
  });
  afterEach(async () => {
    store.gate = Promise.resolve();
    await requests.stop();
    jest.useRealTimers();
  });

  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
  /** Lets `ms` pass. Returns the value and the time until it resolved. */
  const within = async <Value>(ms: number, pending: Promise<Value>): Promise<[Value, number]> => {
    const beganMs = performance.now();
    const timed = pending.then((value): [Value, number] => [value, performance.now() - beganMs]);
    await pass(ms);
    return timed;
  };
  const claim = () => requests.claim('acc_1', NAME, 'fingerprint', 86_400_000);
  const claimed = async (): Promise<KeyClaim> => {
    const made = await claim();
    if (!(made instanceof KeyClaim)) throw new Error('it was not claimed');
    return made;
  };
  const kept = (of: KeyClaim) => new Promise<boolean>((resolve) => of.end(201, true, RESPONSE, resolve));

  it.each([
    ['under_way', 'idempotency_in_progress'],
    ['unknown', 'idempotency_outcome_unknown'],
    ['mismatch', 'idempotency_mismatch'],
  ] as const)('are refused where the record is %s', async (state, code) => {
    store.claimed = { state };
    expect(await claim()).toMatchObject({ code });
  });

  it('get the stored response, or an error if it was not stored', async () => {
    store.claimed = { state: 'done', status: 201, bodyHash: 'of the first', isKept: true };
    const replay = await claim();
    expect(replay).toBeInstanceOf(Replay);
    expect(await (replay as Replay).read()).toBe(RESPONSE);
    store.claimed = { ...store.claimed, isKept: false };
    expect(await claim()).toMatchObject({ code: 'idempotency_not_stored' });
  });

  it('end only once', async () => {
    const made = await claimed();
    made.digestBody(Buffer.from('{}'));
    expect(await kept(made)).toBe(true);
    made.release();
    made.endAsUnknown();
    expect(await kept(made)).toBe(false);
    expect(store.calls).toEqual(['claim true', 'done 201 {}']);
  });

  it('do not store the response if the request body was not read completely', async () => {
    const made = await claimed();
    expect(await new Promise((resolve) => made.end(201, false, RESPONSE, resolve))).toBe(false);
    expect(store.calls.at(-1)).toBe('done 201 undefined');
  });

  it('are refused within the deadline while the store hangs, then immediately, until it is back', async () => {
    let open = (): void => undefined;
    store.gate = new Promise<void>((resolve) => (open = resolve));
    const [refused, tookMs] = await within(3_500, claim());
    expect(refused).toMatchObject({ code: 'idempotency_unavailable', status: 503 });
    expect(tookMs).toBeLessThan(3_500);
    const [again, againMs] = await within(3_500, claim());
    expect(again).toMatchObject({ code: 'idempotency_unavailable' });
    expect(againMs).toBeLessThan(100);
    open();
    clock.advance(10_000);
    expect(await claim()).toBeInstanceOf(KeyClaim);
  });

  it('are released twice if their claim failed, because it may reach the store after the first release', async () => {
    store.gate = Promise.reject(new Error('away'));
    expect(await claim()).toBeInstanceOf(Problem);
    store.gate = Promise.resolve();
    await pass(6_600);
    expect(store.calls).toEqual(['release', 'release']);
  });

  it('do not delay responses while the store hangs, and write the outcome later', async () => {
    const made = await claimed();
    let fail = (_reason: Error): void => undefined;
    store.gate = new Promise((_resolve, reject) => (fail = reject));
    const [isKept, tookMs] = await within(1_000, kept(made));
    expect(isKept).toBe(false);
    expect(tookMs).toBeLessThan(1_000);
    fail(new Error('away'));
    store.gate = Promise.resolve();
    await pass(1_500);
    // Pending outcomes do not keep the response.
    expect(store.calls).toEqual(['claim true', 'done 201 undefined']);
  });

  it('have their leases extended while they are in progress', async () => {
    const made = await claimed();
    await pass(5_500);
    expect(store.calls).toEqual(['claim true', 'extend 1']);
    await kept(made);
    await pass(5_200);
    expect(store.calls.filter((each) => each.startsWith('extend'))).toHaveLength(1);
  });

  it('have pending outcomes written on shutdown', async () => {
    const made = await claimed();
    store.gate = Promise.reject(new Error('away'));
    made.endAsUnknown();
    await pass(10);
    store.gate = Promise.resolve();
    await requests.stop();
    expect(store.calls).toEqual(['claim true', 'unknown', 'close']);
  });

  it('do not store responses if the store is short of memory, and are refused if it is full', async () => {
    const made = await claimed();
    store.room = 'tight';
    expect(await kept(made)).toBe(false);
    expect(store.calls.at(-1)).toBe('done 201 undefined');
    expect(await claim()).toBeInstanceOf(KeyClaim);
    store.room = 'none';
    expect(await claim()).toMatchObject({ code: 'idempotency_unavailable' });
    store.room = 'plenty';
    expect(await kept(await claimed())).toBe(true);
  });

  it('do not store more bytes than the hourly budget of the account', async () => {
    const body = Buffer.alloc(65_536);
    const keep = async (): Promise<boolean> => {
      const made = await claimed();
      return new Promise((resolve) => made.end(201, true, { ...RESPONSE, body }, resolve));
    };
    const most = MAX_STORED_BYTES / body.length;
    for (let count = 0; count < most; count++) expect(await keep()).toBe(true);
    expect(await keep()).toBe(false);
    clock.advance(3_660_000);
    expect(await keep()).toBe(true);
  });

  it('are throttled if too many of them are refused', async () => {
    store.claimed = { state: 'mismatch' };
    for (let count = 0; count < 600; count++) expect(await claim()).toMatchObject({ code: 'idempotency_mismatch' });
    const refused = await claim();
    expect(refused).toMatchObject({ code: 'too_many_idempotent_retries', status: 429 });
    expect((refused as Problem).options.headers).toEqual(expect.arrayContaining(['Retry-After']));
    expect(store.calls).toHaveLength(600);
    clock.advance(62_000);
    expect(await claim()).toMatchObject({ code: 'idempotency_mismatch' });
  });
});
