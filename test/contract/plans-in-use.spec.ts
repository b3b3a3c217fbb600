import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import type { GatewayFile } from '../../src/config/model/schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { keepPlansInUse, plansMissing } from '../../src/accounts/plans-in-use.js';

const row = (id: string, plan: string, status: 'active' | 'suspended' = 'active') => ({
  id,
  name: id,
  plan,
  time_zone: 'UTC',
  billing_day: 1,
  status,
  grant_period: 0,
  grant_amount: 0,
  created_at: 0,
  updated_at: 0,
  version: 1,
});

describeOnDatabases('plans in use', (kind) => {
  let database: DatabaseHandle;
  beforeAll(async () => {
    database = await testDatabase(kind);
    const used = Array.from({ length: 22 }, (_, index) => row(`acc_${index}`, `plan-${index}`));
    const rows = [row('acc_a', 'pro'), row('acc_b', 'pro', 'suspended'), row('acc_c', 'starter'), ...used];
    await database.db.insertInto('account').values(rows).execute();
  });
  afterAll(() => database.close());

  const plans = (...names: string[]) => Object.fromEntries(names.map((name) => [name, {}])) as GatewayFile['plans'];
  const refusal = async (running: string[], next: string[]): Promise<string | undefined> => {
    const file = { plans: plans(...next) } as GatewayFile;
    return keepPlansInUse(database.db, plans(...running), { path: 'gateway.yaml', file }).then(
      () => undefined,
      (error: Error) => error.message,
    );
  };

  it('cannot be removed, and the error counts their accounts, even suspended ones', async () => {
    expect(await refusal(['pro', 'starter', 'free'], ['constructor'])).toMatch(
      new RegExp(
        [
          /^gateway\.yaml: plans\.pro: was removed, but 2 accounts use it\n {2}→ leave.+/,
          /gateway\.yaml: plans\.starter: was removed, but 1 account uses it\n {2}→ leave/,
        ]
          .map(({ source }) => source)
          .join('\\n'),
      ),
    );
  });

  it('are listed in the error up to twenty', async () => {
    const names = Array.from({ length: 22 }, (_, index) => `plan-${index}`);
    const words = await refusal(names, []);
    expect(words?.match(/was removed/g)).toHaveLength(20);
    expect(words).toMatch(/\nand 2 more plans$/);
  });

  it('may already be missing from the configuration without blocking another change', async () => {
    expect(await refusal(['starter'], ['starter', 'new'])).toBeUndefined();
    expect(await refusal(['starter', 'free'], ['starter'])).toBeUndefined();
    expect((await plansMissing(database.db, plans('starter'))).filter((name) => !name.startsWith('plan-'))).toEqual([
      'pro',
    ]);
  });

  it('are not read from the database when no plan is removed', async () => {
    const nobody = undefined as unknown as DatabaseHandle['db'];
    const file = { plans: plans('a', 'b') } as GatewayFile;
    await expect(keepPlansInUse(nobody, plans('a'), { path: 'gateway.yaml', file })).resolves.toBeUndefined();
  });
});
