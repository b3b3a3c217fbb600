/** The limit on registered OAuth clients, with a real database. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { TestClock } from '../support/stores.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { CLIENT } from '../../src/authorization/clients/authorization-requests.js';
import { originOf } from '../../src/authorization/clients/object-limits.js';
import { OAuthObjects } from '../../src/authorization/clients/oauth-objects.js';
import { Registration } from '../../src/authorization/registration.js';

const DAY_MS = 86_400_000;
const BODY = JSON.stringify({ redirect_uris: ['https://app.example.com/callback'] });

describeOnDatabases('OAuth client registration', (kind) => {
  let database: DatabaseHandle;
  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database?.close());

  it('evicts the oldest unauthorized clients over the limit, and keeps authorized ones', async () => {
    const clock = new TestClock();
    const objects = new OAuthObjects(database.db, clock);
    const registration = new Registration(objects, clock, 2);
    const ids: string[] = [];
    const register = async (address = '203.0.113.1'): Promise<void> => {
      const { status, body } = await registration.register(BODY, originOf(address, false));
      expect(status).toBe(201);
      ids.push((body as { client_id: string }).client_id);
      clock.advance(1);
    };
    const known = async () => {
      const found = await Promise.all(ids.map((id) => objects.findPayload(CLIENT, id)));
      return found.map((client) => client !== undefined);
    };
    for (let count = 0; count < 3; count++) await register();
    expect(await known()).toEqual([false, true, true]);
    await objects.keepUntil(CLIENT, ids[1] ?? '', clock.now() + 31 * DAY_MS);
    for (let count = 0; count < 3; count++) await register();
    expect(await known()).toEqual([false, true, false, false, true, true]);
    // An address with many clients evicts its own clients, not those of other addresses.
    await register('198.51.100.7');
    await register();
    expect(await known()).toEqual([false, true, false, false, false, false, true, true]);
    clock.advance(DAY_MS);
    expect(await known()).toEqual([false, true, ...Array.from({ length: 6 }, () => false)]);
  });
});
