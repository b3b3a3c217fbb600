/** How many clients may register, with a real database. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase } from '../../test/support/database.js';
import { TestClock } from '../../test/support/stores.js';
import type { DatabaseHandle } from '../database/connect.js';
import { CLIENT } from '../oauth/authorization-requests.js';
import { OAuthObjects } from '../oauth/oauth-objects.js';
import { Registration } from './registration.js';

const DAY_MS = 86_400_000;
const BODY = JSON.stringify({ redirect_uris: ['https://app.example.com/callback'] });

describe.each(['sqlite', 'postgres'] as const)('registration on %s', (kind) => {
  let database: DatabaseHandle;
  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database?.close());

  it('counts the clients that nobody has let in, and no others', async () => {
    const clock = new TestClock();
    const objects = new OAuthObjects(database.db, clock);
    const registration = new Registration(objects, clock, 2);
    const register = () => registration.register(BODY);
    const first = await register();
    expect([first.status, (await register()).status, (await register()).status]).toEqual([201, 201, 503]);
    const { client_id: id } = first.body as { client_id: string };
    await objects.keepUntil(CLIENT, id, clock.now() + 31 * DAY_MS);
    expect([(await register()).status, (await register()).status]).toEqual([201, 503]);
    clock.advance(DAY_MS);
    expect((await register()).status).toBe(201);
    expect(await objects.find(CLIENT, id)).toBeDefined();
  });
});
