/** A password reset returns an account to its owner: no sign-in method that someone else added before works. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { createLink } from '../../src/members/links.js';
import { Identities } from '../../src/members/providers/identities.js';
import { ProviderSignIn } from '../../src/members/providers/provider-sign-in.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { codeAt, fromBase32 } from '../support/authenticator-app.js';
import { Authenticator } from '../support/authenticator.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { GOOD_PASSWORD, newMember, PanelBrowser, signIn } from '../support/signed-in.js';

const NEW_PASSWORD = 'nine quiet herons over the weir';
const ISSUER = 'https://id.example';
let count = 0;

interface Link {
  readonly link: string;
}
interface Signed {
  readonly me: { readonly member: { readonly id: string } };
}

describeOnDatabases('a password reset link', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const browser = () => new PanelBrowser(running.url);
  const outcome = async (answer: ReturnType<PanelBrowser['ask']>) => {
    const { status, json } = await answer;
    return status < 300 ? status : json().code;
  };
  const site = () => ({ origin: `http://localhost:${running.port}`, rpId: 'localhost' });
  const tokenOf = ({ link }: Link): string => link.split('#')[1] ?? '';
  const resetLink = async (id: string): Promise<string> =>
    tokenOf(await running.admin.call<Link>('POST', `/members/${id}/password-reset-links`));
  const reset = async (id: string, own = browser()) =>
    await own.ask('POST', '/links/take', { token: await resetLink(id), password: NEW_PASSWORD });
  const withPasskey = async (device: Authenticator) => {
    const own = browser();
    const { challenge } = await own.call<{ challenge: string }>('POST', '/sign-in/passkey/options');
    return await outcome(
      own.ask('POST', '/sign-in/passkey', { response: device.authenticate({ challenge, ...site() }) }),
    );
  };
  const addPasskey = async (own: PanelBrowser, device: Authenticator, name: string) => {
    const { challenge } = await own.call<{ challenge: string }>('POST', '/me/passkeys/options');
    const response = device.register({ challenge, ...site() });
    return await own.ask('POST', '/me/passkeys', { name, response });
  };
  /** Lets an attacker accept their own invitation for an email address, and add a passkey and an identity. */
  async function hijacked(email = `ceo-${kind}-${++count}@example.com`) {
    const { id: accountId } = await running.admin.createAccount({ plan: 'starter' });
    const owner = await signIn(running, await newMember(database, { roles: { [accountId]: 'owner' } }));
    const invited = await browser().ask('POST', `/accounts/${accountId}/invitations`, { email, role: 'viewer' }, owner);
    const attacker = browser();
    const taken = { token: tokenOf(invited.json<Link>()), name: 'CEO', password: GOOD_PASSWORD };
    const { me } = await attacker.call<Signed>('POST', '/links/take', taken);
    const device = new Authenticator();
    expect((await addPasskey(attacker, device, 'Old phone')).status).toBe(201);
    const identity = { issuer: ISSUER, subject: `sub-${kind}-${++count}`, member_id: me.member.id, email };
    const row = { ...identity, created_at: running.clock.now(), last_used_at: null };
    await database.db.insertInto('member_identity').values(row).execute();
    return { id: me.member.id, email, attacker, device, accountId };
  }

  it('removes passkey, identity, password and sessions of an attacker who took the invitation', async () => {
    const { id, email, attacker, device } = await hijacked();
    const { id: other } = await running.admin.createAccount({ plan: 'starter' });
    const invitation = { email, role: 'owner' };
    const invited = await running.admin.call<Link>('POST', `/accounts/${other}/invitations`, invitation);
    const ceo = browser();
    expect((await reset(id, ceo)).json()).toMatchObject({ state: 'signed_in' });
    expect(await outcome(ceo.ask('POST', '/links/take', { token: tokenOf(invited) }))).toBe(200);
    expect((await ceo.ask('GET', `/accounts/${other}`)).status).toBe(200);
    expect(await outcome(attacker.ask('GET', '/me'))).toBe('session_ended');
    const old = { email, password: GOOD_PASSWORD };
    expect(await outcome(browser().ask('POST', '/sign-in/password', old))).toBe('invalid_credentials');
    expect(await withPasskey(device)).toBe('invalid_credentials');
    expect(await running.members.signInMethods.findMethods(id)).toEqual({
      password: true,
      totp: false,
      passkeys: 0,
      issuers: [],
    });
    const mine = { email, password: NEW_PASSWORD };
    expect(await outcome(browser().ask('POST', '/sign-in/password', mine))).toBe(200);
  });

  it('shows which factors it removes before it is used, and removes none when it is read', async () => {
    const { id, device, email } = await hijacked();
    const shown = await browser().call('POST', '/links/read', { token: await resetLink(id) });
    expect(shown).toMatchObject({
      kind: 'password_reset',
      factors: [
        { type: 'passkey', name: 'Old phone', issuer: null, last_used_at: null, is_removed: true },
        { type: 'identity', name: email, issuer: ISSUER, last_used_at: null, is_removed: true },
      ],
    });
    expect(await withPasskey(device)).toBe(200);
  });

  it('writes an audit entry for each removed factor', async () => {
    const { id } = await hijacked();
    await reset(id);
    const entries = database.db.selectFrom('audit_entry').select(['action', 'actor', 'before']).orderBy('id', 'desc');
    const latest = (await entries.where('target_id', '=', id).limit(4).execute()).reverse();
    expect(latest.map(({ action, actor }) => [action, actor])).toEqual([
      ['member.passkey_removed', id],
      ['member.identity_unlinked', id],
      ['member.password_changed', id],
      ['sign_in.succeeded', id],
    ]);
    expect(latest[0]?.before).toContain('"name":"Old phone"');
    expect(latest[1]?.before).toContain(`"issuer":"${ISSUER}"`);
  });

  it('requires the authenticator app, which only an operator can remove', async () => {
    const { id, attacker } = await hijacked();
    const { secret } = await attacker.call<{ secret: string }>('POST', '/me/totp');
    const now = () => running.clock.now();
    await attacker.call('POST', '/me/totp/confirm', { code: codeAt(fromBase32(secret), now()) });
    const token = await resetLink(id);
    const { factors } = await browser().call<{ factors: object[] }>('POST', '/links/read', { token });
    expect(factors.at(-1)).toMatchObject({ type: 'totp', is_removed: false });
    const ceo = browser();
    expect((await reset(id, ceo)).json()).toMatchObject({ state: 'second_factor' });
    expect(await running.members.signInMethods.findMethods(id)).toMatchObject({ totp: true, passkeys: 0, issuers: [] });
    await running.admin.request('DELETE', `/members/${id}/second-factor`);
    expect((await reset(id, ceo)).json()).toMatchObject({ state: 'signed_in' });
  });

  it('deletes the secret of an authenticator app that is being set up', async () => {
    const { id, attacker } = await hijacked();
    await attacker.call('POST', '/me/totp');
    await reset(id);
    const own = database.db.selectFrom('member').select('totp_secret').where('id', '=', id);
    expect(await own.executeTakeFirst()).toEqual({ totp_secret: null });
  });

  it('is not undone by an earlier concurrent request to add a password, passkey or identity', async () => {
    const { id, attacker, email } = await hijacked();
    const { newPasswords, steps } = running.members;
    const hash = newPasswords.hash.bind(newPasswords);
    newPasswords.hash = async (...given) => {
      newPasswords.hash = hash;
      expect((await reset(id)).status).toBe(200);
      return await hash(...given);
    };
    const password = 'eleven loud geese behind the dam';
    expect(await outcome(attacker.ask('PUT', '/me/password', { password }))).toBe('session_ended');
    expect(await outcome(browser().ask('POST', '/sign-in/password', { email, password }))).toBe('invalid_credentials');

    const second = browser();
    await second.call('POST', '/sign-in/password', { email, password: NEW_PASSWORD });
    await second.call('POST', '/confirmations', { password: NEW_PASSWORD });
    const take = steps.consumeStep.bind(steps);
    steps.consumeStep = async (...given) => {
      steps.consumeStep = take;
      const step = await take(...given);
      expect((await reset(id)).status).toBe(200);
      return step;
    };
    const late = new Authenticator();
    expect(await outcome(addPasskey(second, late, 'Late'))).toBe('session_ended');
    expect(await withPasskey(late)).toBe('invalid_credentials');

    const { clock } = running;
    const identities = new Identities(database, clock, running.members.signInMethods);
    const { accessChanges, sessions, signIn } = running.members;
    const providers = new ProviderSignIn(database, clock, identities, sessions, signIn, accessChanges);
    const from = { ip: '127.0.0.1', userAgent: 'test' };
    const { session } = await sessions.createSession({ memberId: id }, 'password', from);
    await reset(id);
    const identity = { provider: 'company', issuer: ISSUER, subject: `late-${kind}`, email, isEmailVerified: true };
    const arrival = { identity: { ...identity, name: null, isOperator: null, authTime: null }, memberId: id };
    const journey = { ...arrival, purpose: 'link', linkHash: null, returnTo: '/' } as const;
    const context = { actor: id, ip: from.ip, requestId: 'req_test' };
    await expect(providers.linkIdentity(journey, session.id, context)).rejects.toMatchObject({ code: 'session_ended' });
    expect((await running.members.signInMethods.findMethods(id)).issuers).toEqual([]);
  });

  it('lists removed factors in the mail to the member, even with passwords turned off', async () => {
    const { id, email } = await hijacked();
    const mail = { url: 'smtp://localhost', from: 'no-reply@example.com' };
    const passwords = false;
    const without = await startAdmin(database, { settings: { mail, signIn: { passwords } } });
    try {
      const link = { kind: 'password_reset', memberId: id, createdBy: 'operator', lastsMs: 60_000 } as const;
      const { token } = await createLink(database.db, link, without.clock.now());
      const taken = await new PanelBrowser(without.url).ask('POST', '/links/take', { token });
      expect(taken.json()).toMatchObject({ state: 'signed_in', me: { member: { has_password: false, passkeys: 0 } } });
    } finally {
      await without.close();
    }
    const notices = database.db.selectFrom('mail').select('content').where('to_address', '=', email);
    expect((await notices.execute()).map(({ content }) => JSON.parse(content) as object)).toMatchObject([
      {
        change: 'sign_in_reset',
        removed: [
          { type: 'passkey', name: 'Old phone' },
          { type: 'identity', name: email },
        ],
      },
    ]);
  });
});
