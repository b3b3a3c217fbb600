/** Keys by hash and by account: both indexes always agree, and the number of keys is bounded. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { CachedKey } from './cached-key.js';
import { CachedKeys } from './cached-keys.js';

const MOST = 6;

function key(hash: string, accountId: string): CachedKey {
  const chain = { wasUsed: false, nextOfAccount: undefined, previousOfAccount: undefined };
  return { record: { hash, accountId }, ...chain } as unknown as CachedKey;
}

const hash = fc.nat(11).map((at) => `h${at}`);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('set' as const), hash, account: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), hash, account: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('use' as const), hash, account: fc.nat(2) }) },
);

describe('known keys', () => {
  it('are found by hash and by account, up to the maximum number', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const keys = new CachedKeys(MOST);
        const ever = new Map<string, CachedKey>();
        for (const { do: what, hash: name, account } of steps) {
          if (what === 'use') keys.findAndMarkUsed(name);
          if (what === 'delete') keys.delete(name);
          if (what === 'delete') ever.delete(name);
          if (what !== 'set') continue;
          const added = key(name, `acc_${account}`);
          ever.set(name, added);
          keys.set(added);
        }
        const last = steps.at(-1);
        expect(last?.do === 'set' ? keys.get(last.hash) : undefined).toBe(
          last?.do === 'set' ? ever.get(last.hash) : undefined,
        );
        const byHash = [...ever.keys()].flatMap((name) => keys.get(name) ?? []);
        const byAccount = [0, 1, 2].flatMap((account) => keys.ofAccount(`acc_${account}`));
        expect(new Set(byAccount)).toEqual(new Set(byHash));
        expect([byAccount.length, byHash.length]).toEqual([keys.size, keys.size]);
        expect(keys.size).toBeLessThanOrEqual(MOST);
        expect(byHash.every((known) => ever.get(known.record.hash) === known)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('are evicted if they were not used since the last eviction, oldest first', () => {
    const keys = new CachedKeys(3);
    for (const name of ['a', 'b', 'c']) keys.set(key(name, 'acc'));
    keys.findAndMarkUsed('a');
    const known = (): string => ['a', 'b', 'c', 'd', 'e', 'f'].filter((name) => keys.get(name) !== undefined).join('');
    keys.set(key('d', 'acc'));
    expect(known()).toBe('acd');
    keys.set(key('e', 'acc'));
    expect(known()).toBe('ade');
    for (const name of ['a', 'd', 'e']) keys.findAndMarkUsed(name);
    keys.set(key('f', 'acc'));
    expect(known()).toHaveLength(3);
    expect(known()).toContain('f');
  });

  it('of an account can be deleted during iteration', () => {
    const keys = new CachedKeys(MOST);
    for (const name of ['a', 'b', 'c']) keys.set(key(name, 'acc'));
    for (const { record } of keys.ofAccount('acc')) keys.delete(record.hash);
    expect([keys.size, keys.ofAccount('acc'), keys.accountPartOf('acc')]).toEqual([0, [], undefined]);
  });
});
