/**
 * The duration of a refused sign-in does not reveal who is a member, because the same hash is computed for everyone.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { SeededRandom } from '../support/seeded-random.js';
import { memberWithPassword } from '../support/signed-in.js';

const TRIES = 40;
/** Attempts per name. Below the limit for a name, which would refuse requests before any hash. */
const TRIES_OF_A_NAME = 8;
/**
 * Maximum distance of the share from 0.5. Chance alone moves it by 0.065, and a missing hash would move it to 0 or 1.
 * 200 manual tries of each kind gave 0.46 to 0.51 on SQLite and PostgreSQL.
 */
const MAX_APART = 0.3;

const KINDS = ['a member', 'nobody', 'a member without a password', 'a disabled member'] as const;
type Kind = (typeof KINDS)[number];

/** Returns the share of pairs in which the first value is larger: 0.5 if the lists are alike (Mann–Whitney). */
function shareAbove(ones: readonly number[], others: readonly number[]): number {
  const wins = ones.flatMap((one) => others.map((other) => (one > other ? 1 : one === other ? 0.5 : 0)));
  return wins.reduce<number>((sum, win) => sum + win, 0) / wins.length;
}

describeOnDatabases('a refused sign-in', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  const names = new Map<Kind, string[]>();

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database, { settings: { trustedProxies: ['127.0.0.1'] } });
    const { db } = database;
    const count = TRIES / TRIES_OF_A_NAME;
    const members = async (change: object | null): Promise<string[]> => {
      const emails: string[] = [];
      for (let each = 0; each < count; each++) {
        const { id, email } = await memberWithPassword(database, running);
        if (change !== null) await db.updateTable('member').set(change).where('id', '=', id).execute();
        emails.push(email);
      }
      return emails;
    };
    names.set('a member', await members(null));
    names.set('a member without a password', await members({ password: null }));
    names.set('a disabled member', await members({ status: 'disabled' }));
    names.set(
      'nobody',
      Array.from({ length: count }, (_none, each) => `nobody-${each}@example.com`),
    );
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  it('takes as long for members, even disabled or without a password, as for unknown names', async () => {
    const random = new SeededRandom(1);
    const times = new Map<Kind, number[]>(KINDS.map((each) => [each, []]));
    for (let tried = 0; tried < TRIES; tried++) {
      // Uses a random order, so that other load on the machine affects all kinds alike.
      for (const each of KINDS.toSorted(() => random.next() - 0.5)) {
        const email = names.get(each)?.[Math.floor(tried / TRIES_OF_A_NAME)];
        const start = performance.now();
        const answer = await send(`${running.url}/admin/v1/sign-in/password`, {
          method: 'POST',
          headers: { 'Sec-Fetch-Site': 'same-origin', 'X-Forwarded-For': `10.${KINDS.indexOf(each)}.${tried}.1` },
          body: { email, password: 'a wrong one that is long enough' },
        });
        times.get(each)?.push(performance.now() - start);
        expect(answer.status).toBe(401);
      }
    }
    const ofNobody = times.get('nobody') ?? [];
    for (const each of KINDS) {
      const share = shareAbove(times.get(each) ?? [], ofNobody);
      expect([each, Math.abs(share - 0.5) < MAX_APART]).toEqual([each, true]);
    }
  });
});
