/**
 * Guarantees of every idempotency record store. One of several claims wins, and its request is never carried out twice.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { ClaimTerms, StoredResponse, Outcome } from '../../src/idempotency/record.js';
import { describeRecordStores, type RecordStoreUnderTest } from '../support/record-stores.js';

const LEASE_S = 15;
const KEPT_S = 86_400;
const BYTES = Buffer.from(Array.from({ length: 65_536 }, (_, at) => at % 256));
const RESPONSE: StoredResponse = {
  status: 201,
  code: '',
  lines: 'Content-Type: image/png\r\nX-Name: Z\u00fcrich\r\n',
  body: BYTES,
};
const DONE: Outcome = { kind: 'done', status: 201, bodyHash: 'hash', response: RESPONSE };
const UNKNOWN: Outcome = { kind: 'unknown' };

describeRecordStores('an idempotency record', (open) => {
  let under: RecordStoreUnderTest;
  let terms: ClaimTerms;
  const by = (owner: string, more: Partial<ClaimTerms> = {}): ClaimTerms => ({ ...terms, owner, ...more });
  const stateOf = async (owner = 'other', more: Partial<ClaimTerms> = {}) =>
    (await under.store.claim(by(owner, more))).state;
  beforeAll(async () => {
    under = await open();
  });
  afterAll(() => under.close());
  beforeEach(async () => {
    await under.empty();
    terms = {
      name: { caller: 'key_1', keyHash: randomUUID() },
      accountId: 'acc_1',
      fingerprint: 'one',
      owner: 'first',
      leaseMs: LEASE_S * 1_000,
      retentionMs: KEPT_S * 1_000,
    };
  });

  it('grants one of fifty concurrent claims', async () => {
    const claimed = await Promise.all(Array.from({ length: 50 }, (_, at) => stateOf(`owner ${at}`)));
    expect(claimed.filter((state) => state === 'claimed')).toHaveLength(1);
    expect(claimed.filter((state) => state === 'under_way')).toHaveLength(49);
  });

  it('returns the stored response byte for byte, only for the same caller, key and fingerprint', async () => {
    await under.store.claim(terms);
    expect(await under.store.read(terms.name)).toBeUndefined();
    expect(await under.store.end(terms, DONE)).toBe(true);
    expect(await under.store.claim(by('other'))).toEqual({
      state: 'done',
      status: 201,
      bodyHash: 'hash',
      isKept: true,
    });
    expect(await under.store.read(terms.name)).toEqual(RESPONSE);
    expect(await stateOf('other', { fingerprint: 'two' })).toBe('mismatch');
    for (const name of [
      { ...terms.name, caller: 'key_2' },
      { ...terms.name, keyHash: 'another' },
    ]) {
      expect(await under.store.read(name)).toBeUndefined();
      expect(await stateOf('other', { name })).toBe('claimed');
    }
  });

  it('can be done without a stored response, and with an empty one', async () => {
    await under.store.claim(terms);
    await under.store.end(terms, { ...DONE, response: undefined });
    expect(await under.store.claim(by('other'))).toMatchObject({ state: 'done', status: 201, isKept: false });
    expect(await under.store.read(terms.name)).toBeUndefined();
    const name = { ...terms.name, keyHash: 'empty' };
    const empty = { status: 204, code: '', lines: '', body: Buffer.alloc(0) };
    await under.store.claim(by('x', { name }));
    await under.store.end(by('x', { name }), { ...DONE, status: 204, response: empty });
    expect(await under.store.claim(by('y', { name }))).toMatchObject({ state: 'done', isKept: true });
    expect(await under.store.read(name)).toEqual(empty);
  });

  it('is under way until its lease ends, then unknown, and is never claimed a second time', async () => {
    await under.store.claim(terms);
    await under.wait(LEASE_S - 1);
    expect(await stateOf()).toBe('under_way');
    await under.store.extend([terms, by('stranger')]);
    await under.wait(LEASE_S - 1);
    expect(await stateOf()).toBe('under_way');
    await under.wait(1);
    expect(await stateOf()).toBe('unknown');
    await under.wait(KEPT_S / 2);
    expect(await stateOf()).toBe('unknown');
  });

  it('can be ended by its owner after its lease has ended', async () => {
    await under.store.claim(terms);
    await under.wait(LEASE_S * 10);
    expect(await stateOf()).toBe('unknown');
    expect(await under.store.end(terms, DONE)).toBe(true);
    expect(await stateOf()).toBe('done');
  });

  it('is ended once, and only by its owner', async () => {
    await under.store.claim(terms);
    expect(await under.store.end(by('stranger'), DONE)).toBe(false);
    await under.store.release(by('stranger'));
    expect(await stateOf()).toBe('under_way');
    expect(await under.store.end(terms, DONE)).toBe(true);
    expect(await under.store.end(terms, UNKNOWN)).toBe(false);
    await under.store.release(terms);
    await under.store.extend([terms]);
    expect(await stateOf()).toBe('done');
  });

  it('is unknown at once when its owner says so, and no lease extension changes that', async () => {
    await under.store.claim(terms);
    expect(await under.store.end(terms, UNKNOWN)).toBe(true);
    await under.store.extend([terms]);
    expect(await stateOf()).toBe('unknown');
  });

  it('can be claimed by another request after its release', async () => {
    await under.store.claim(terms);
    await under.store.release(terms);
    expect(await stateOf('other', { fingerprint: 'two' })).toBe('claimed');
    // The other request has claimed the record.
    await under.store.release(terms);
    expect(await under.store.end(terms, DONE)).toBe(false);
    expect(await stateOf('third', { fingerprint: 'two' })).toBe('under_way');
  });

  it('is kept for its retention from its end on, and can then be claimed again', async () => {
    await under.store.claim(terms);
    await under.wait(KEPT_S / 2);
    await under.store.end(terms, DONE);
    await under.wait(KEPT_S - 1);
    expect(await stateOf()).toBe('done');
    expect(await under.store.read(terms.name)).toBeDefined();
    await under.wait(1);
    expect(await under.store.read(terms.name)).toBeUndefined();
    expect(await stateOf('other', { fingerprint: 'two' })).toBe('claimed');
  });

  it('outlives its retention while its lease is extended', async () => {
    const short = by('first', { retentionMs: 20_000 });
    await under.store.claim(short);
    for (let round = 0; round < 10; round++) {
      await under.wait(5);
      await under.store.extend([short]);
    }
    expect(await stateOf('other', { retentionMs: 20_000 })).toBe('under_way');
  });

  it('is created again at its end if the store lost it, unless another request has claimed it', async () => {
    await under.store.claim(terms);
    await under.empty();
    expect(await under.store.end(terms, DONE)).toBe(true);
    expect(await under.store.claim(by('other'))).toMatchObject({ state: 'done', isKept: true });
    await under.empty();
    await under.store.claim(by('other'));
    expect(await under.store.end(terms, DONE)).toBe(false);
    expect(await stateOf('third')).toBe('under_way');
  });

  it('keeps 250 leases that one call extends', async () => {
    const many = Array.from({ length: 250 }, (_, at) =>
      by(`owner ${at}`, { name: { ...terms.name, keyHash: `${at}` } }),
    );
    await Promise.all(many.map((each) => under.store.claim(each)));
    await under.wait(LEASE_S - 1);
    await under.store.extend(many);
    await under.wait(LEASE_S - 1);
    const states = await Promise.all(many.map(async ({ name }) => stateOf('other', { name })));
    expect(new Set(states)).toEqual(new Set(['under_way']));
  });
});
