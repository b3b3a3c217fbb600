/**
 * Property test with random histories. Every idempotency record store behaves as a simple model, and no request is
 * carried out twice.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ClaimTerms, Claimed, StoredResponse, Outcome } from '../../src/idempotency/record.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, RUNS } from '../support/histories.js';
import { describeRecordStores, type RecordStoreUnderTest } from '../support/record-stores.js';

const LEASE_S = 15;

type Step =
  | { readonly do: 'claim'; readonly name: number; readonly fingerprint: number; readonly retentionS: number }
  | { readonly do: 'end'; readonly which: number; readonly outcome: 'kept' | 'bare' | 'unknown' }
  | { readonly do: 'release' | 'extend'; readonly which: number }
  | { readonly do: 'read'; readonly name: number }
  | { readonly do: 'wait'; readonly seconds: number };

const name = fc.nat(2);
const which = fc.nat(5);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      name,
      fingerprint: fc.constantFrom(0, 0, 0, 1),
      retentionS: fc.constantFrom(60, 86_400),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which,
      outcome: fc.constantFrom('kept' as const, 'bare' as const, 'unknown' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('extend' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const), name }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      seconds: fc.constantFrom(1, 5, 14, 15, 16, 29, 30, 44, 59, 60, 61, 43_200, 86_399, 86_400),
    }),
  },
);
const history = fc.array(step, { minLength: 1, maxLength: 40 });

interface ModelRecord {
  readonly fingerprint: string;
  readonly owner: string;
  leasedUntil: number;
  expiresAt: number;
  outcome: Extract<Outcome, { kind: 'done' }> | undefined;
}

/** Reference model of a record store. Times are in seconds. */
class Model {
  nowS = 1_000;
  private readonly records = new Map<string, ModelRecord>();

  claim({ name: { keyHash }, fingerprint, owner, retentionMs }: ClaimTerms): Claimed {
    const record = this.at(keyHash);
    if (record === undefined) {
      const [leasedUntil, expiresAt] = [this.nowS + LEASE_S, this.nowS + retentionMs / 1_000];
      this.records.set(keyHash, { fingerprint, owner, leasedUntil, expiresAt, outcome: undefined });
      return { state: 'claimed' };
    }
    if (record.fingerprint !== fingerprint) return { state: 'mismatch' };
    if (record.outcome !== undefined) {
      const { status, bodyHash, response } = record.outcome;
      return { state: 'done', status, bodyHash, isKept: response !== undefined };
    }
    return { state: record.leasedUntil > this.nowS ? 'under_way' : 'unknown' };
  }

  extend({ name: { keyHash }, owner }: ClaimTerms): void {
    const record = this.at(keyHash);
    if (record === undefined || record.owner !== owner || record.outcome !== undefined || record.leasedUntil === 0)
      return;
    record.leasedUntil = this.nowS + LEASE_S;
    record.expiresAt = Math.max(record.expiresAt, this.nowS + 2 * LEASE_S);
  }

  end({ name: { keyHash }, fingerprint, owner, retentionMs }: ClaimTerms, outcome: Outcome): boolean {
    const record = this.at(keyHash);
    if (record !== undefined && (record.owner !== owner || record.outcome !== undefined)) return false;
    this.records.set(keyHash, {
      fingerprint,
      owner,
      leasedUntil: 0,
      expiresAt: this.nowS + retentionMs / 1_000,
      outcome: outcome.kind === 'done' ? outcome : undefined,
    });
    return true;
  }

  release({ name: { keyHash }, owner }: ClaimTerms): void {
    const record = this.at(keyHash);
    if (record?.owner === owner && record.outcome === undefined) this.records.delete(keyHash);
  }

  read(keyHash: string): StoredResponse | undefined {
    return this.at(keyHash)?.outcome?.response;
  }

  private at(keyHash: string): ModelRecord | undefined {
    const record = this.records.get(keyHash);
    return record !== undefined && record.expiresAt > this.nowS ? record : undefined;
  }
}

let count = 0;

async function play({ store, wait }: RecordStoreUnderTest, steps: readonly Step[]): Promise<void> {
  const run = `run ${++count}`;
  const model = new Model();
  const nameOf = (at: number) => ({ caller: run, keyHash: `${at}` });
  /** All claims so far, whether they succeeded or not. */
  const asked: ClaimTerms[] = [];
  for (const each of steps) {
    switch (each.do) {
      case 'wait':
        model.nowS += each.seconds;
        await wait(each.seconds);
        break;
      case 'claim': {
        const terms: ClaimTerms = {
          name: nameOf(each.name),
          accountId: 'acc_1',
          fingerprint: `fingerprint ${each.fingerprint}`,
          owner: `owner ${asked.length}`,
          leaseMs: LEASE_S * 1_000,
          retentionMs: each.retentionS * 1_000,
        };
        asked.push(terms);
        deepStrictEqual(await store.claim(terms), model.claim(terms));
        break;
      }
      case 'read':
        deepStrictEqual(await store.read(nameOf(each.name)), model.read(`${each.name}`));
        break;
      default: {
        const terms = asked.at(-1 - each.which);
        if (terms === undefined) break;
        if (each.do === 'end') {
          const outcome = outcomeOf(each.outcome, asked.length);
          deepStrictEqual(await store.end(terms, outcome), model.end(terms, outcome));
        } else if (each.do === 'extend') {
          await store.extend([terms]);
          model.extend(terms);
        } else {
          await store.release(terms);
          model.release(terms);
        }
      }
    }
  }
}

function outcomeOf(what: 'kept' | 'bare' | 'unknown', seed: number): Outcome {
  if (what === 'unknown') return { kind: 'unknown' };
  const body = Buffer.from([seed, 0, 255, 13, 10]);
  const response = what === 'kept' ? { status: 201, code: '', lines: `X-Seed: ${seed}\r\n`, body } : undefined;
  return { kind: 'done', status: 201, bodyHash: `hash ${seed}`, response };
}

announceHistories('records against the model');

describeRecordStores('an idempotency record store', (open) => {
  let under: RecordStoreUnderTest;
  beforeAll(async () => {
    under = await open();
  });
  afterAll(() => under.close());

  it(
    'returns in every random history what the model returns',
    () =>
      fc.assert(
        fc.asyncProperty(history, async (steps) => {
          await under.empty();
          await play(under, steps);
        }),
        RUNS,
      ),
    HISTORIES_TIMEOUT_MS,
  );

  it(
    'grants one claim for a key, even with concurrent claims and processes that die',
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ dies: fc.boolean(), waitS: fc.nat(40), at: fc.integer({ min: 1, max: 4 }) }), {
            minLength: 2,
            maxLength: 12,
          }),
          async (rounds) => {
            await under.empty();
            let carriedOut = 0;
            for (const [round, { dies, waitS, at }] of rounds.entries()) {
              const terms = Array.from({ length: at }, (_, one) => ({
                name: { caller: 'key_1', keyHash: 'the one' },
                accountId: 'acc_1',
                fingerprint: 'same',
                owner: `${round} ${one}`,
                leaseMs: LEASE_S * 1_000,
                retentionMs: 86_400_000,
              }));
              const claimed = await Promise.all(terms.map((each) => under.store.claim(each)));
              for (const [one, { state }] of claimed.entries()) {
                if (state !== 'claimed') continue;
                carriedOut += 1;
                if (!dies) await under.store.end(terms[one]!, outcomeOf('kept', round));
              }
              await under.wait(waitS);
            }
            expect(carriedOut).toBe(1);
          },
        ),
        RUNS,
      ),
    HISTORIES_TIMEOUT_MS,
  );
});
