import { describe, expect, it } from '@jest/globals';
import { limitsWith, subjectWith, UTC_MONTHS } from '../../../test/support/quotas.js';
import { perWindow, WINDOWS } from '../../platform/quotas/windows.js';
import { countsMinus, countsPlus, NOTHING_USED, roomFor, violatedBy, type QuotaCounts } from './policies.js';

const PLACES = WINDOWS.map(({ name }, index) => [name, index] as const);
const oneAt = (at: number, one: number, others: number) => perWindow((_, index) => (index === at ? one : others));

describe.each(PLACES)('%s', (_name, at) => {
  it('alone refuses if it is full', () => {
    const limits = oneAt(at, 5, 100);
    const used = perWindow(() => 4);
    expect([roomFor(limits, used, 1), violatedBy(limits, used, 1)]).toEqual([1, 0]);
    expect([roomFor(limits, used, 2), violatedBy(limits, used, 2)]).toEqual([0, 1 << at]);
  });

  it('is counted and refunded, but not below zero', () => {
    const counted = countsPlus(oneAt(at, 7, 1) as QuotaCounts, 3);
    expect(counted).toEqual(oneAt(at, 10, 4));
    expect(countsMinus(counted, 5)).toEqual(oneAt(at, 5, 0));
  });

  it('is kept in the counts that a subject has seen', () => {
    const subject = subjectWith({});
    subject.recordSeen(oneAt(at, 7, 1), 1_000, UTC_MONTHS.at(1_000));
    expect(subject.lastSeen).toEqual(oneAt(at, 7, 1));
  });
});

it('without limits there is room for everything', () => {
  expect(roomFor(limitsWith({}), NOTHING_USED, 1)).toBe(Infinity);
});
