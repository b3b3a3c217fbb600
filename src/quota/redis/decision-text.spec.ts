import { describe, expect, it } from '@jest/globals';
import { NO_LIMITS, subjectWith, UTC_MONTHS } from '../../../test/support/quotas.js';
import { bulkText } from '../../stores/redis/script-command.js';
import { keysText, readNumbers } from './decision-text.js';
import { QuotaTerms, ShadowSubject } from '../model/subject.js';

describe('the counters of a subject', () => {
  it('are encoded in a call like their keys, for IDs of any length', () => {
    const terms = new QuotaTerms(NO_LIMITS, 'local', UTC_MONTHS);
    const ids = ['a', 'acc_1m7x92zfd016nt4eqnwjw2pxy', 'acc_2m7x92zfd016nt4eqnwjw2pxy', 'b', 'bb', 'c'];
    for (const accountId of ids) {
      for (const keyId of ['k', 'key_1m7x92zfd016nt4eqnwjw2py0']) {
        for (const subject of [
          subjectWith({}, { accountId, keyId }),
          new ShadowSubject(accountId, keyId, 'pro', terms),
        ]) {
          expect(keysText(subject)).toBe(bulkText(subject.accountCounterKey) + bulkText(subject.keyCounterKey));
        }
      }
    }
  });
});

describe('numbers in a response', () => {
  const read = (text: string): number[] => {
    const numbers = new Float64Array(16);
    return Array.from(numbers.subarray(0, readNumbers(Buffer.from(text), numbers)));
  };

  it.each([
    ['one', '1763640000123', [1_763_640_000_123]],
    ['several', '1763640000123 0 7 12', [1_763_640_000_123, 0, 7, 12]],
    ['below zero', '5 -1 0 -20 3', [5, -1, 0, -20, 3]],
    ['the greatest', '9007199254740991 1', [Number.MAX_SAFE_INTEGER, 1]],
  ])('%s', (_, text, expected) => expect(read(text)).toEqual(expected));
});
