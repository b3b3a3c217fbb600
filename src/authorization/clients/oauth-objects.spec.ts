/** Tests that expired objects, and no others, are deleted. */
import { expect, it } from '@jest/globals';
import { testDatabase } from '../../../test/support/database.js';
import { TestClock } from '../../../test/support/stores.js';
import { OAuthObjects } from './oauth-objects.js';

it('deletes expired objects and no others', async () => {
  const database = await testDatabase('sqlite');
  const clock = new TestClock();
  const objects = new OAuthObjects(database.db, clock);
  const rows = async () => (await database.db.selectFrom('oauth_object').select('kind').execute()).length;
  try {
    for (let n = 0; n < 3; n++) await objects.storeObject('Request', `r${n}`, {}, clock.now() + 1_000 * (n + 1));
    clock.advance(1_500);
    expect(await objects.forgetExpired()).toBe(1);
    expect(await rows()).toBe(2);
    clock.advance(1_000);
    expect(await objects.forgetExpired()).toBe(1);
    expect(await rows()).toBe(1);
  } finally {
    await database.close();
  }
});
