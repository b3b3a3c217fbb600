/** What came of requests is told to the store later, each of them. */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { ClaimTerms } from './record.js';
import { UnsaidOutcomes } from './unsaid.js';

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

it('at the end of the program, too, while the store is being told of the first', async () => {
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const told: string[] = [];
  const release = async ({ owner }: ClaimTerms): Promise<void> => {
    await gate;
    told.push(owner);
  };
  const unsaid = new UnsaidOutcomes({ release, end: () => Promise.reject(new Error('not asked for')) });
  const owners = Array.from({ length: 50 }, (_, at) => `owner ${at}`);
  for (const owner of owners) unsaid.add(termsOf(owner), undefined);
  await jest.advanceTimersByTimeAsync(1_000);
  const end = unsaid.stop();
  open();
  await end;
  expect(told).toEqual(owners);
});
