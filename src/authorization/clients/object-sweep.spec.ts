/** What is over is forgotten again and again, also after a database that was away. */
import { expect, it } from '@jest/globals';
import { testDatabase } from '../../../test/support/database.js';
import { eventually } from '../../../test/support/processes.js';
import { TestClock } from '../../../test/support/stores.js';
import { ObjectSweep } from './object-sweep.js';
import { OAuthObjects } from './oauth-objects.js';

it('what is over is forgotten again and again, also after a database that was away', async () => {
  const database = await testDatabase('sqlite');
  const clock = new TestClock();
  const objects = new OAuthObjects(database.db, clock);
  const warnings: unknown[] = [];
  let isAway = true;
  const forgetExpired = async (): Promise<number> => {
    if (isAway) throw new Error('away');
    return objects.forgetExpired();
  };
  const sweep = new ObjectSweep({ forgetExpired }, { warn: (fields: unknown) => void warnings.push(fields) }, 20);
  const rows = async () => (await database.db.selectFrom('oauth_object').select('kind').execute()).length;
  try {
    for (let n = 0; n < 3; n++) await objects.put('Request', `r${n}`, {}, clock.now() + 1_000 * (n + 1));
    clock.advance(1_500);
    sweep.start();
    await eventually('it complains', () => warnings.length > 1);
    expect(await rows()).toBe(3);
    isAway = false;
    await eventually('the first is gone', async () => (await rows()) === 2);
    clock.advance(1_000);
    await eventually('the second is gone', async () => (await rows()) === 1);
  } finally {
    await sweep.stop();
    await database.close();
  }
});
