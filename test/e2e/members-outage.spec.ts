/** While the database is unavailable, members stay signed in and get 503, which never looks like a failed sign-in. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { openDatabase } from '../../src/stores/database/connect.js';
import { startAdmin } from '../support/admin-application.js';
import { answersNow } from '../support/database.js';
import { describeWithOwnPostgres } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from '../support/signed-in.js';

describeWithOwnPostgres('while the database is unavailable', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('members get 503 and keep their session, and failed sign-ins do not count as wrong passwords', async () => {
    const database = await openDatabase({ databaseUrl: await server.createDatabase('members'), dataDir: '' });
    const running = await startAdmin(database);
    const { email } = await memberWithPassword(database, running);
    const own = new PanelBrowser(running.url);
    await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    const cookie = own.cookies.get('tg_session');
    await server.kill9();
    await eventually('the database is down', async () => !(await answersNow(database)));
    const calls = [
      ['GET', '/me', undefined],
      ['POST', '/sign-out', undefined],
      ['POST', '/sign-in/password', { email, password: GOOD_PASSWORD }],
      ['POST', '/links/take', { token: 'A'.repeat(43) }],
      ['GET', '/sign-in', undefined],
    ] as const;
    for (const [method, path, body] of calls) {
      const start = performance.now();
      const answer = await own.ask(method, path, body);
      expect([path, answer.status, answer.json().code]).toEqual([path, 503, 'database_unavailable']);
      expect(answer.headers['set-cookie']).toBeUndefined();
      expect(quietMsSince(start)).toBeLessThan(5_000);
    }
    for (let attempt = 0; attempt < 25; attempt++) {
      expect(
        (await new PanelBrowser(running.url).ask('POST', '/sign-in/password', { email, password: 'x' })).status,
      ).toBe(503);
    }
    expect(own.cookies.get('tg_session')).toBe(cookie);
    await server.restart();
    await eventually('the database is back', async () => answersNow(database));
    expect((await own.ask('GET', '/me')).status).toBe(200);
    const again = new PanelBrowser(running.url);
    expect((await again.ask('POST', '/sign-in/password', { email, password: GOOD_PASSWORD })).status).toBe(200);
    await running.close();
    await database.close();
  });

  it('the program starts, and creates the link of the first operator once the database responds', async () => {
    const DATABASE_URL = await server.createDatabase('first');
    const { db, close } = await openDatabase({ databaseUrl: DATABASE_URL, dataDir: '' });
    let program: RunningTrailgate | undefined;
    try {
      const said = (event: string) => program?.logs().some((line) => line['event'] === event) === true;
      await db.transaction().execute(async (trx) => {
        await sql`lock table link in access exclusive mode`.execute(trx);
        program = await startTrailgate({ env: { DATABASE_URL } });
        await eventually('first_owner_unknown is logged', () => said('first_owner_unknown'));
        expect((await send(`${program.adminUrl}/readyz`)).status).toBe(200);
        expect(said('first_owner_link')).toBe(false);
      });
      await eventually('first_owner_link is logged', () => said('first_owner_link'));
      expect(said('crash')).toBe(false);
    } finally {
      await program?.stop();
      await close();
    }
  });
});
