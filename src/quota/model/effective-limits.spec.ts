/** Tests the limits in force for a key: its plan's, its overrides, and grants. */
import { describe, expect, it } from '@jest/globals';
import { LARGEST_LIMIT } from '../../config/model/plan-schema.js';
import type { PlanConfig } from '../../config/model/schema.js';
import { effectiveLimits, hasGrantIn, NO_GRANT, NO_LIMIT_CHANGES, type LimitChanges } from './effective-limits.js';
import { limitsWith, countsByWindow } from '../../../test/support/quotas.js';

const PLAN: PlanConfig = {
  key: { minute: 60, month: 500 },
  account: { minute: 120, month: 10_000 },
  onRedisLoss: 'local',
  charge: 'all',
};
const NOVEMBER = 20_261_101;
const changed = (changes: Partial<LimitChanges>, plan = PLAN, label = NOVEMBER) =>
  countsByWindow(effectiveLimits(plan, { ...NO_LIMIT_CHANGES, ...changes }, label));
const plain = countsByWindow(limitsWith({ keyMinute: 60, accountMinute: 120, accountMonth: 10_000, keyMonth: 500 }));

describe('the limits in force', () => {
  it('are those of the plan if nothing was changed', () => {
    expect(countsByWindow(effectiveLimits(PLAN, NO_LIMIT_CHANGES, NOVEMBER))).toEqual(plain);
    expect(changed({})).toEqual(plain);
  });

  it.each([
    [{ minute: 5 }, { ...plain, keyMinute: 5 }],
    [{ month: 0 }, { ...plain, keyMonth: 0 }],
    [
      { minute: null, month: 7 },
      { ...plain, keyMinute: Infinity, keyMonth: 7 },
    ],
  ])('of a key with %j override the plan, and the account limits stay', (keyLimits, limits) => {
    expect(changed({ keyLimits })).toEqual(limits);
  });

  it('are raised by a grant of this month, on top of the own limits of a key', () => {
    const granted = { month: NOVEMBER, amount: 1_000 };
    expect(changed({ accountGrant: granted })).toEqual({ ...plain, accountMonth: 11_000 });
    expect(changed({ keyGrant: granted })).toEqual({ ...plain, keyMonth: 1_500 });
    expect(changed({ keyGrant: granted, keyLimits: { month: 5 } })).toEqual({ ...plain, keyMonth: 1_005 });
  });

  it('are those of the plan again in the next month', () => {
    const accountGrant = { month: NOVEMBER, amount: 1_000 };
    expect(changed({ accountGrant }, PLAN, 20_261_201)).toEqual(plain);
    expect(hasGrantIn({ ...NO_LIMIT_CHANGES, accountGrant }, NOVEMBER)).toBe(true);
    expect(hasGrantIn({ ...NO_LIMIT_CHANGES, accountGrant }, 20_261_201)).toBe(false);
    expect(hasGrantIn(NO_LIMIT_CHANGES, NOVEMBER)).toBe(false);
  });

  it('stay raised if the billing day is moved back', () => {
    expect(changed({ accountGrant: { month: 20_261_115, amount: 9 } }).accountMonth).toBe(10_009);
  });

  it('stay unlimited despite grants, and never exceed the largest limit', () => {
    const granted = { month: NOVEMBER, amount: LARGEST_LIMIT };
    const unlimited: PlanConfig = { key: {}, account: {}, onRedisLoss: 'local', charge: 'all' };
    expect(changed({ accountGrant: granted, keyGrant: granted }, unlimited).accountMonth).toBe(Infinity);
    expect(changed({ accountGrant: granted, keyGrant: NO_GRANT }).accountMonth).toBe(LARGEST_LIMIT);
  });
});
