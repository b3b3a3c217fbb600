/** A member verifies their own email address by a mailed link, and cannot verify that of another person. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { renewLinkToken } from '../../src/members/links/link-renewal.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from '../support/signed-in.js';

const PATH = '/me/address-verification';

describeOnDatabases('the email address of a member', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let withoutMail: RunningAdmin;
  let email: string;
  let own: PanelBrowser;

  beforeAll(async () => {
    database = await testDatabase(kind);
    const mail = { url: 'smtp://localhost', from: 'no-reply@example.com' };
    running = await startAdmin(database, { settings: { mail } });
    withoutMail = await startAdmin(database);
  });
  afterAll(async () => {
    await running.close();
    await withoutMail.close();
    await database.close();
  });
  beforeEach(async () => {
    ({ email } = await memberWithPassword(database, running));
    own = await signedIn(email);
  });

  const signedIn = async (name: string, { url } = running): Promise<PanelBrowser> => {
    const browser = new PanelBrowser(url);
    await browser.call('POST', '/sign-in/password', { email: name, password: GOOD_PASSWORD });
    return browser;
  };
  const outcome = async (answer: ReturnType<PanelBrowser['ask']>): Promise<unknown> => {
    const { status, json } = await answer;
    return status < 300 ? status : json().code;
  };
  const isVerified = async (): Promise<boolean> =>
    (await own.call<{ member: { email_verified: boolean } }>('GET', '/me')).member.email_verified;
  /** Returns the token of the link in the newest mail to the address. */
  const mailedToken = async (): Promise<string> => {
    const links = database.db.selectFrom('mail').innerJoin('link', 'link.id', 'mail.link_id').select('link.id');
    const ofMember = links.where('mail.to_address', '=', email).orderBy('link.id', 'desc');
    const { id } = await ofMember.executeTakeFirstOrThrow();
    return (await renewLinkToken(database.db, id, running.clock.now())) ?? '';
  };

  it('is verified by the mailed link in a session of the member', async () => {
    expect(await outcome(own.ask('POST', PATH))).toBe(202);
    const token = await mailedToken();
    const shown = await new PanelBrowser(running.url).call<object>('POST', '/links/read', { token });
    expect(shown).toMatchObject({ kind: 'email_verification', email, ways: ['sign_in'] });
    expect(await isVerified()).toBe(false);
    const taken = await own.call('POST', '/links/take', { token });
    expect(taken).toMatchObject({ me: { member: { email_verified: true } } });
    expect(await isVerified()).toBe(true);
    expect(await outcome(own.ask('POST', PATH))).toBe('conflict');
  });

  it('stays unverified when another person or a signed-out browser opens the link', async () => {
    await own.call('POST', PATH);
    const token = await mailedToken();
    const other = await signedIn((await memberWithPassword(database, running)).email);
    const newcomer = { name: 'Bea', password: GOOD_PASSWORD };
    for (const who of [new PanelBrowser(running.url), other]) {
      expect(await outcome(who.ask('POST', '/links/take', { token }))).toBe('missing_credentials');
      expect(await outcome(who.ask('POST', '/links/take', { token, ...newcomer }))).toBe('missing_credentials');
    }
    expect(await isVerified()).toBe(false);
  });

  it('gets five links an hour, of which only the last works, and none without mail settings', async () => {
    const refused = await (await signedIn(email, withoutMail)).ask('POST', PATH);
    expect([refused.status, refused.json()]).toEqual([
      409,
      expect.objectContaining({ code: 'conflict', detail: expect.stringContaining('no email is set up') }),
    ]);
    const tokens: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      await own.call('POST', PATH);
      tokens.push(await mailedToken());
    }
    const tooMany = await own.ask('POST', PATH);
    expect([tooMany.status, tooMany.headers['retry-after']]).toEqual([429, '3600']);
    const outcomes: unknown[] = [];
    for (const token of tokens) outcomes.push(await outcome(own.ask('POST', '/links/take', { token })));
    expect(outcomes).toEqual([...Array<string>(4).fill('link_ended'), 200]);
  });
});
