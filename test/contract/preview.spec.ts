/** The preview of the next request equals its decision, and counts nothing. */
import { deepStrictEqual } from 'node:assert/strict';
import { it } from '@jest/globals';
import fc from 'fast-check';
import type { Limiter } from '../../src/quota/limiter.js';
import { previewDecision } from '../../src/quota/preview.js';
import { describeCounterStores, type StoreUnderTest } from '../support/counter-stores.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, RUNS } from '../support/histories.js';
import { subjectWith } from '../support/quotas.js';

announceHistories('previews');

const limit = fc.oneof({ weight: 4, arbitrary: fc.nat(12) }, fc.constantFrom(Infinity, 999_999_999_999_999));
const history = fc.record({
  limits: fc.record({ keyMinute: limit, accountMinute: limit, accountMonth: limit, keyMonth: limit }),
  steps: fc.array(
    fc.record({
      key: fc.nat(1),
      cost: fc.constantFrom(1, 1, 2, 5, 0),
      waitMs: fc.oneof(fc.nat(3_000), fc.nat(40_000)),
    }),
    { minLength: 1, maxLength: 25 },
  ),
});
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

let account = 0;

async function play(under: StoreUnderTest, { limits, steps }: History): Promise<void> {
  const accountId = `acc_${++account}`;
  const quotas = under.store as unknown as Pick<Limiter, 'read' | 'readShadow'>;
  for (const { key, cost, waitMs } of steps) {
    const subject = subjectWith(limits, { accountId, keyId: `${accountId}_${key}` });
    under.clock.advance(waitMs);
    const predicted = (await previewDecision(quotas, subject, cost)).live.decision;
    deepStrictEqual((await previewDecision(quotas, subject, cost)).live.decision, predicted);
    const { admitted, violated, retryAtMs, nowMs, period } = await under.decide(subject, cost);
    const { admitted: predictedAdmitted, violated: predictedViolated, retryAtMs: predictedRetryAtMs } = predicted;
    deepStrictEqual([predictedAdmitted, predictedViolated, predictedRetryAtMs], [admitted, violated, retryAtMs]);
    // Ignores fractions of a millisecond, which counted decisions have.
    deepStrictEqual([Math.floor(predicted.nowMs), predicted.period], [Math.floor(nowMs), period]);
  }
}

describeCounterStores((under) => {
  it(
    'preview every decision correctly in random histories',
    () =>
      fc.assert(
        fc.asyncProperty(history, (drawn) => play(under(), drawn)),
        RUNS,
      ),
    HISTORIES_TIMEOUT_MS,
  );
});
