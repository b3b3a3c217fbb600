/** Outcomes that wait for the store are all written. */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { ClaimTerms } from './record.js';
import { PendingOutcomes } from './pending-outcomes.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const termsOf = (owner: string): ClaimTerms => ({
  name: { caller: 'key_1', keyHash: owner },
  accountId: 'acc_1',
  fingerprint: 'fingerprint',
  owner,
  leaseMs: 15_000,
  retentionMs: 86_400_000,
});

it('writes all pending outcomes on shutdown while an earlier write is in progress', async () => {
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const released: string[] = [];
  const release = async ({ owner }: ClaimTerms): Promise<void> => {
    await gate;
    released.push(owner);
  };
  const pending = new PendingOutcomes({ release, end: () => Promise.reject(new Error('not asked for')) });
  const owners = Array.from({ length: 50 }, (_, at) => `owner ${at}`);
  for (const owner of owners) pending.add(termsOf(owner), undefined);
  await jest.advanceTimersByTimeAsync(1_000);
  const end = pending.stop();
  open();
  await end;
  expect(released).toEqual(owners);
});
