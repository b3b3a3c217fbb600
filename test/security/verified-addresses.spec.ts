/**
 * An unverified email address grants nothing. This file tests every place that finds a member by an email address, and
 * everything that verifies one. `address-verification.spec.ts` tests the link that a member requests.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { MIGRATIONS } from '../../src/stores/database/migrations.js';
import { createLink } from '../../src/members/links.js';
import { renewLinkToken } from '../../src/members/links/link-renewal.js';
import { Identities } from '../../src/members/providers/identities.js';
import type { ProviderIdentity } from '../../src/members/providers/provider-identity.js';
import { ProviderInvitations } from '../../src/members/providers/provider-invitations.js';
import { ProviderSignIn } from '../../src/members/providers/provider-sign-in.js';
import { hashToken } from '../../src/members/session-token.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from '../support/signed-in.js';

const ISSUER = 'https://id.example';
const FROM = { ip: '127.0.0.1', userAgent: 'test', requestId: 'req_test', session: undefined, known: undefined };
/** Files that may look up a member by an email address. Each has a row in the table of this spec. */
const LOOKUPS = [
  'src/members/links/invitations.ts',
  'src/members/member-admin.ts',
  'src/members/member-rows.ts',
  'src/members/providers/provider-invitations.ts',
  'src/members/sign-in/link-use.ts',
  'src/members/sign-in/sign-in.ts',
  'src/members/verified-addresses.ts',
];
let count = 0;

describeOnDatabases('an email address', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let withMail: RunningAdmin;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    const mail = { url: 'smtp://localhost', from: 'no-reply@example.com' };
    withMail = await startAdmin(database, { settings: { mail } });
  });
  afterAll(async () => {
    await running.close();
    await withMail.close();
    await database.close();
  });

  const newAddress = () => `person-${kind}-${++count}@example.com`;
  const newAccount = async () => (await running.admin.createAccount({ plan: 'starter' })).id;
  const browser = ({ url } = running) => new PanelBrowser(url);
  const outcome = async (answer: ReturnType<PanelBrowser['ask']>) => {
    const { status, json } = await answer;
    return status < 300 ? status : json().code;
  };
  const newcomer = { name: 'Bea', password: GOOD_PASSWORD };
  /** Returns the token of the link in the newest mail to the address. */
  const mailedToken = async (email: string): Promise<string> => {
    const links = database.db.selectFrom('mail').innerJoin('link', 'link.id', 'mail.link_id').select('link.id');
    const { id } = await links
      .where('mail.to_address', '=', email)
      .orderBy('link.id', 'desc')
      .executeTakeFirstOrThrow();
    return (await renewLinkToken(database.db, id, withMail.clock.now())) ?? '';
  };
  const invited = async (email: string, accountId: string, { admin } = running): Promise<string> => {
    const body = { email, role: 'admin' };
    const { link } = await admin.call<{ link: string | null }>('POST', `/accounts/${accountId}/invitations`, body);
    return link === null ? await mailedToken(email) : (link.split('#')[1] ?? '');
  };
  /** Creates a member, and signs them in. */
  const member = async (email = newAddress(), verifiedAt: number | null = null) => {
    const { id } = await memberWithPassword(database, running, { email });
    await database.db.updateTable('member').set({ email_verified_at: verifiedAt }).where('id', '=', id).execute();
    const own = browser();
    await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
    return { id, email, own };
  };
  const accountsOf = async (id: string): Promise<string[]> => {
    const own = database.db.selectFrom('account_member').select('account_id').where('member_id', '=', id);
    return (await own.execute()).map(({ account_id: accountId }) => accountId);
  };
  const isVerified = async (email: string): Promise<boolean> => {
    const { data } = await running.admin.call<{ data: { email: string; email_verified: boolean }[] }>(
      'GET',
      '/members?limit=100',
    );
    return data.find((each) => each.email === email)?.email_verified ?? false;
  };
  const identity = (email: string | null, isEmailVerified: boolean): ProviderIdentity => {
    const subject = `sub-${kind}-${++count}`;
    const unsaid = { name: 'Bea', isOperator: null, authTime: null };
    return { provider: 'company', issuer: ISSUER, subject, email, isEmailVerified, ...unsaid };
  };
  const providers = () => {
    const { clock } = running;
    const identities = new Identities(database, clock, running.members.signInMethods);
    const { sessions, signIn, accessChanges } = running.members;
    return {
      invitations: new ProviderInvitations(database, clock, identities, signIn, accessChanges),
      signIn: new ProviderSignIn(database, clock, identities, sessions, signIn, accessChanges),
    };
  };
  const arrival = (who: ProviderIdentity, token: string | null = null) => {
    const linkHash = token === null ? null : hashToken(token);
    return { identity: who, memberId: null, returnTo: '/', purpose: 'invitation', linkHash } as const;
  };

  /** Places that find a member by an email address, with a test of what it grants there. */
  it.each<readonly [string, () => Promise<void>]>([
    [
      'an invitation that was handed over looks the same for the address of a member and for any other',
      async () => {
        const accountId = await newAccount();
        const read = async (email: string) => {
          const token = await invited(email, accountId);
          const shown = await browser().call<object>('POST', '/links/read', { token });
          return JSON.stringify(shown)
            .replace(email, '')
            .replace(/"expires_at":"[^"]+"/, '');
        };
        const unknown = await read(newAddress());
        expect(unknown).toContain('"ways":["password","sign_in"]');
        expect(await read((await member()).email)).toBe(unknown);
        expect(await read((await member(newAddress(), 1)).email)).toBe(unknown);
        const spelled = (await member()).email;
        expect(await read(spelled.toUpperCase().replace('EXAMPLE.COM', 'example.com'))).toBe(unknown);
      },
    ],
    [
      'an invitation makes no second member of an address, and gives nothing to the first; guesses are counted',
      async () => {
        const accountId = await newAccount();
        const { id, email } = await member();
        const token = await invited(email, accountId);
        const stranger = browser();
        expect(await outcome(stranger.ask('POST', '/links/take', { token }))).toBe('missing_credentials');
        expect(await outcome(stranger.ask('POST', '/links/take', { token, ...newcomer }))).toBe('missing_credentials');
        expect(stranger.cookies.has('tg_session')).toBe(false);
        expect(await accountsOf(id)).toEqual([]);
        const codes: unknown[] = [];
        for (let guess = 0; guess < 20; guess++) {
          codes.push(await outcome(stranger.ask('POST', '/links/take', { token, ...newcomer })));
        }
        expect(codes.at(-1)).toBe('too_many_failed_attempts');
        running.clock.advance(61_000);
      },
    ],
    [
      'an invitation that was handed over is taken by the member who is signed in, whatever their address',
      async () => {
        const accountId = await newAccount();
        const [squatter, bea] = [await member(), await member()];
        const token = await invited(squatter.email, accountId);
        expect(await outcome(bea.own.ask('POST', '/links/take', { token }))).toBe(200);
        expect(await accountsOf(bea.id)).toEqual([accountId]);
        expect(await accountsOf(squatter.id)).toEqual([]);
        expect([await isVerified(squatter.email), await isVerified(bea.email)]).toEqual([false, false]);
      },
    ],
    [
      'an invitation that was mailed to a verified member is for that member alone',
      async () => {
        const accountId = await newAccount();
        const [ana, bea] = [await member(newAddress(), 1), await member()];
        const token = await invited(ana.email, accountId, withMail);
        expect(await browser().call('POST', '/links/read', { token })).toMatchObject({ ways: ['sign_in'] });
        for (const body of [{ token }, { token, ...newcomer }]) {
          expect(await outcome(bea.own.ask('POST', '/links/take', body))).toBe('missing_credentials');
        }
        expect(await outcome(ana.own.ask('POST', '/links/take', { token }))).toBe(200);
      },
    ],
    [
      'an invitation that was mailed to the address of an unverified member is not theirs by that address',
      async () => {
        const accountId = await newAccount();
        const [squatter, bea] = [await member(), await member()];
        const token = await invited(squatter.email, accountId, withMail);
        expect(await outcome(bea.own.ask('POST', '/links/take', { token }))).toBe(200);
        expect(await accountsOf(squatter.id)).toEqual([]);
        expect(await isVerified(bea.email)).toBe(false);
      },
    ],
    [
      'an invitation that is taken at a provider links nothing to the member of the address, verified or not',
      async () => {
        const accountId = await newAccount();
        for (const verifiedAt of [null, 1]) {
          const { id, email } = await member(newAddress(), verifiedAt);
          const token = await invited(email, accountId);
          const taken = providers().invitations.acceptInvitation(arrival(identity(email, true), token), FROM);
          await expect(taken).rejects.toMatchObject({ code: 'missing_credentials' });
          expect((await running.members.signInMethods.findMethods(id)).issuers).toEqual([]);
          expect(await accountsOf(id)).toEqual([]);
        }
      },
    ],
    [
      'a sign-in at a provider finds nobody by the address',
      async () => {
        const { email } = await member(newAddress(), 1);
        const signedIn = providers().signIn.signInMember(arrival(identity(email, true)), FROM);
        await expect(signedIn).rejects.toMatchObject({ code: 'identity_unknown' });
      },
    ],
    [
      'the link of the first owner makes no operator of the member of the address',
      async () => {
        const { id, email } = await member();
        const link = { kind: 'first_owner', createdBy: 'system', lastsMs: 60_000 } as const;
        const { token } = await createLink(database.db, link, running.clock.now());
        const body = { token, email, ...newcomer };
        expect(await outcome(browser().ask('POST', '/links/take', body))).toBe('missing_credentials');
        expect((await running.members.store.get(id)).isOperator).toBe(false);
      },
    ],
    [
      'an operator makes no second member of an address, and changes nothing of the first',
      async () => {
        const { id, email } = await member();
        const made = await running.admin.request('POST', '/members', { email, name: 'Eve', is_operator: true });
        expect(made.json()).toMatchObject({ code: 'already_a_member' });
        expect(await running.members.store.get(id)).toMatchObject({ isOperator: false, version: 1 });
      },
    ],
    [
      'an account does not invite the address of its own member again, and another account does',
      async () => {
        const accountId = await newAccount();
        const { id, email } = await member();
        const times = { version: 1, created_at: 1, updated_at: 1 };
        const row = { account_id: accountId, member_id: id, role: 'viewer', ...times } as const;
        await database.db.insertInto('account_member').values(row).execute();
        const invite = async (account: string) => {
          const path = `/accounts/${account}/invitations`;
          return (await running.admin.request('POST', path, { email, role: 'viewer' })).status;
        };
        expect([await invite(accountId), await invite(await newAccount())]).toEqual([409, 201]);
      },
    ],
    [
      'a request for a new password is mailed to a verified address, and to no other',
      async () => {
        const [proven, squatter] = [await member(newAddress(), 1), await member()];
        const context = { actor: 'nobody', ip: FROM.ip, requestId: FROM.requestId };
        for (const { email } of [proven, squatter]) await withMail.members.admin.requestReset(email, context);
        const links = database.db.selectFrom('link').select('member_id').where('kind', '=', 'password_reset');
        const made = await links.where('member_id', 'in', [proven.id, squatter.id]).execute();
        expect(made).toEqual([{ member_id: proven.id }]);
      },
    ],
    [
      'a password signs in by the address and is compared first',
      async () => {
        const { email } = await member();
        const wrong = { email, password: 'nine quiet herons over the weir' };
        expect(await outcome(browser().ask('POST', '/sign-in/password', wrong))).toBe('invalid_credentials');
      },
    ],
    [
      'a mail is in the language of the member only where the address is verified',
      async () => {
        const accountId = await newAccount();
        const locales = [];
        for (const verifiedAt of [null, 1]) {
          const { id, email } = await member(newAddress(), verifiedAt);
          await database.db.updateTable('member').set({ locale: 'es' }).where('id', '=', id).execute();
          await withMail.admin.call('POST', `/accounts/${accountId}/invitations`, { email, role: 'viewer' });
          const mails = database.db.selectFrom('mail').select('locale').where('to_address', '=', email);
          locales.push((await mails.executeTakeFirstOrThrow()).locale);
        }
        expect(locales).toEqual(['en', 'es']);
      },
    ],
  ])('%s', async (_place, holds) => await holds());

  it.each<readonly [string, boolean, () => Promise<string>]>([
    [
      'a new member takes a mailed invitation',
      true,
      async () => {
        const email = newAddress();
        const token = await invited(email, await newAccount(), withMail);
        await browser().call('POST', '/links/take', { token, ...newcomer });
        return email;
      },
    ],
    [
      'its member takes an invitation that was mailed to it',
      true,
      async () => {
        const { email, own } = await member();
        await own.call('POST', '/links/take', { token: await invited(email, await newAccount(), withMail) });
        return email;
      },
    ],
    [
      'its member takes a mailed reset link',
      true,
      async () => {
        const { id, email } = await member();
        await withMail.admin.call('POST', `/members/${id}/password-reset-links`);
        const body = { token: await mailedToken(email), password: GOOD_PASSWORD };
        await browser().call('POST', '/links/take', body);
        return email;
      },
    ],
    [
      'a provider says that it is verified, of whom it lets in by an invitation',
      true,
      async () => {
        const email = newAddress();
        const token = await invited(email, await newAccount());
        await providers().invitations.acceptInvitation(arrival(identity(email, true), token), FROM);
        return email;
      },
    ],
    [
      'a provider says that it is verified, of a member who has linked the identity',
      true,
      async () => {
        const { id, email } = await member();
        const who = identity(email, true);
        const row = {
          issuer: who.issuer,
          subject: who.subject,
          member_id: id,
          email,
          created_at: 1,
          last_used_at: null,
        };
        await database.db.insertInto('member_identity').values(row).execute();
        await providers().signIn.signInMember(arrival(who), FROM);
        return email;
      },
    ],
    [
      'a provider says another address, or does not say that it is verified',
      false,
      async () => {
        const { id, email } = await member();
        for (const who of [identity(email, false), identity(newAddress(), true)]) {
          const { issuer, subject } = who;
          const row = { issuer, subject, member_id: id, email, created_at: 1, last_used_at: null };
          await database.db.insertInto('member_identity').values(row).execute();
          await providers().signIn.signInMember(arrival(who), FROM);
        }
        return email;
      },
    ],
    [
      'a new member takes an invitation that was handed over',
      false,
      async () => {
        const email = newAddress();
        await browser().call('POST', '/links/take', { token: await invited(email, await newAccount()), ...newcomer });
        return email;
      },
    ],
    [
      'an operator adds the member and hands the link over',
      false,
      async () => {
        const email = newAddress();
        const body = { email, name: 'Gil' };
        const made = await running.admin.call<{ password_link: { link: string } }>('POST', '/members', body);
        const token = made.password_link.link.split('#')[1];
        await browser().call('POST', '/links/take', { token, password: GOOD_PASSWORD });
        return email;
      },
    ],
    [
      'the first owner types it',
      false,
      async () => {
        const email = newAddress();
        const link = { kind: 'first_owner', createdBy: 'system', lastsMs: 60_000 } as const;
        const { token } = await createLink(database.db, link, running.clock.now());
        await browser().call('POST', '/links/take', { token, email, ...newcomer });
        return email;
      },
    ],
  ])('is verified (true) or not (false) after this: %s (%s)', async (_what, verified, happens) => {
    const email = await happens();
    const row = database.db.selectFrom('member').select('email_verified_at').where('email', '=', email);
    expect((await row.executeTakeFirstOrThrow()).email_verified_at !== null).toBe(verified);
  });

  it('of a member older than this field is verified if they used a mailed reset link or invitation', async () => {
    const [mailed, handed] = [await member(), await member()];
    await withMail.admin.call('POST', `/members/${mailed.id}/password-reset-links`);
    const token = await mailedToken(mailed.email);
    await database.db.updateTable('mail').set({ state: 'sent' }).where('to_address', '=', mailed.email).execute();
    await browser().call('POST', '/links/take', { token, password: GOOD_PASSWORD });
    const accountId = await newAccount();
    const take = async (email: string, { admin } = withMail): Promise<string> => {
      const link = await invited(email, accountId, { ...withMail, admin });
      await database.db.updateTable('mail').set({ state: 'sent' }).where('to_address', '=', email).execute();
      await browser().call('POST', '/links/take', { token: link, ...newcomer });
      return email;
    };
    const [invitedByMail, invitedByHand] = [await take(newAddress()), await take(newAddress(), running)];
    // A signed-in member used the invitation. Later, an operator typed its address for a new member.
    const other = await member();
    const typed = newAddress();
    const link = await invited(typed, accountId, withMail);
    await database.db.updateTable('mail').set({ state: 'sent' }).where('to_address', '=', typed).execute();
    await other.own.call('POST', '/links/take', { token: link });
    await member(typed);
    await database.db.schema.alterTable('member').dropColumn('email_verified_at').execute();
    await MIGRATIONS['0027_verified_addresses']?.up(database.db);
    const emails = [mailed.email, handed.email, invitedByMail, invitedByHand, other.email, typed];
    const verified: boolean[] = [];
    for (const email of emails) verified.push(await isVerified(email));
    expect(verified).toEqual([true, false, true, false, false, false]);
  });
});

it('members are looked up by email address only in the listed files', () => {
  const lookup = /\b(?:verifiedMemberByEmail|memberByEmail)\(|where\('(?:member\.)?email(?:_key)?', '='/;
  const files = globSync('src/**/*.ts').filter((file) => !/\.spec\.ts$|^src\/customers\//.test(file));
  expect(files.filter((file) => lookup.test(readFileSync(file, 'utf8'))).toSorted()).toEqual(LOOKUPS);
});
