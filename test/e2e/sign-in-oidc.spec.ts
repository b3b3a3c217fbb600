/**
 * Sign-in at a real identity provider. A linked identity signs its member in, but an email address alone never does. A
 * claim makes members operators. Runs on SQLite and PostgreSQL.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeOnDatabases } from '../support/describe-with.js';
import { IdentityProvider } from '../support/identity-provider.js';
import { ProviderWorld } from '../support/provider-world.js';
import { GOOD_PASSWORD, memberWithPassword } from '../support/signed-in.js';

const MINUTE_MS = 60_000;

describe('at an identity provider', () => {
  let idp: IdentityProvider;
  beforeAll(async () => {
    idp = await IdentityProvider.start();
  });
  afterAll(async () => await idp?.stop());

  describeOnDatabases('a sign-in', (kind) => {
    let world: ProviderWorld;
    beforeAll(async () => {
      world = await ProviderWorld.start(idp, kind);
    });
    afterAll(async () => await world?.close());

    it('is offered, and is refused to an identity that is not linked, even with the email of a member', async () => {
      const { email } = await world.signedIn();
      const sub = world.newName();
      await idp.setClaims(sub, { email, email_verified: true });
      const own = world.browser();
      expect(await own.call('GET', '/sign-in')).toMatchObject({ providers: [{ id: 'company', label: 'Company' }, {}] });
      expect(await world.visit(own, sub)).toBe('/sign-in?problem=identity_unknown');
      expect(own.cookies.has('tg_session')).toBe(false);
    });

    it('works with a linked identity, also after its email changed, until it is unlinked', async () => {
      const { own, id } = await world.signedIn();
      const sub = world.newName();
      expect(await world.visit(own, sub, { purpose: 'link', return_to: '/me' })).toBe('/me');
      expect(await own.call('GET', '/me/identities')).toMatchObject({
        data: [{ issuer: idp.issuer, provider: 'company' }],
      });
      await idp.setClaims(sub, { email: 'ana@elsewhere.example' });
      const next = world.browser();
      expect(await world.visit(next, sub, { return_to: '//evil.example' })).toBe('/');
      expect(await next.call('GET', '/me')).toMatchObject({ member: { id } });
      const [identity] = (await own.call<{ data: { id: string }[] }>('GET', '/me/identities')).data;
      await own.call('DELETE', `/me/identities/${identity?.id}`);
      expect(await world.visit(world.browser(), sub)).toBe('/sign-in?problem=identity_unknown');
    });

    it('cannot be linked to a second member, or by a visitor who is not signed in', async () => {
      const [first, second] = [await world.signedIn(), await world.signedIn()];
      const sub = world.newName();
      await world.visit(first.own, sub, { purpose: 'link' });
      const refused = await world.visit(second.own, sub, { purpose: 'link', return_to: '/profile?tab=1#a' });
      expect(refused).toBe('/profile?tab=1&problem=conflict#a');
      for (const purpose of ['link', 'confirm']) {
        const answer = await world.browser().ask('POST', '/sign-in/providers/company', { purpose });
        expect([answer.status, answer.json().code]).toEqual([401, 'missing_credentials']);
      }
    });

    it('cannot be linked in a session older than ten minutes without a confirmation', async () => {
      const { own } = await world.signedIn();
      world.running.clock.advance(11 * MINUTE_MS);
      const answer = await own.ask('POST', '/sign-in/providers/company', { purpose: 'link' });
      expect([answer.status, answer.json()]).toMatchObject([
        403,
        { code: 'confirmation_required', confirm_with: ['password'] },
      ]);
      world.running.clock.advance(-11 * MINUTE_MS);
    });

    it('is refused in another browser, with another state, a second time, or for a disabled member', async () => {
      const { own, id } = await world.signedIn();
      const sub = world.newName();
      await world.visit(own, sub, { purpose: 'link' });
      const mine = world.browser();
      const { url } = await mine.call<{ url: string }>('POST', '/sign-in/providers/company', {});
      const back = await idp.signIn(url, sub);
      const path = `${back.pathname.replace('/admin/v1', '')}${back.search}`;
      const ended = '/sign-in?problem=sign_in_ended';
      expect((await world.browser().ask('GET', path)).headers.location).toBe(ended);
      const other = await mine.ask('GET', path.replace(/state=[^&]*/, 'state=x'));
      expect(other.headers.location).toBe('/sign-in?problem=invalid_credentials');
      expect((await mine.ask('GET', path)).headers.location).toBe(ended);
      await world.database.db.updateTable('member').set({ status: 'disabled' }).where('id', '=', id).execute();
      expect(await world.visit(world.browser(), sub)).toBe('/sign-in?problem=invalid_credentials');
    });

    it('cannot be started by a page of another origin', async () => {
      const answer = await world
        .browser()
        .ask('POST', '/sign-in/providers/company', {}, { 'Sec-Fetch-Site': 'cross-site' });
      expect([answer.status, answer.json().code]).toEqual([403, 'cross_site_request']);
    });

    it('grants and removes operator rights by the claim, and then ends sessions and adds an audit entry', async () => {
      const { own, id } = await world.signedIn();
      const sub = world.newName();
      await world.visit(own, sub, { purpose: 'link' });
      const asOperator = async () => {
        const next = world.browser();
        expect(await world.visit(next, sub, {}, 'staff')).toBe('/');
        return { next, isOperator: (await next.call<{ member: object }>('GET', '/me')).member };
      };
      await idp.setClaims(sub, { groups: ['dev', 'ops'] });
      const made = await asOperator();
      expect(made.isOperator).toMatchObject({ id, is_operator: true });
      // The claim has ended the earlier session.
      expect((await own.ask('GET', '/me')).status).toBe(401);
      // Neither another provider nor the same claim again changes the operator role.
      expect(await world.visit(world.browser(), sub)).toBe('/');
      await asOperator();
      expect((await made.next.ask('GET', '/members')).status).toBe(200);
      await idp.setClaims(sub, { groups: ['ops-trainees'] });
      expect((await asOperator()).isOperator).toMatchObject({ is_operator: false });
      expect((await made.next.ask('GET', '/members')).status).toBe(401);
      const changes = (await world.entriesOf(id)).filter(({ action }) => action === 'member.updated');
      expect(changes.map(({ actor, after }) => [actor, after])).toEqual([
        ['provider:staff', '{"is_operator":true}'],
        ['provider:staff', '{"is_operator":false}'],
      ]);
      await world.database.db.updateTable('member').set({ status: 'disabled' }).where('id', '=', id).execute();
      await idp.setClaims(sub, { groups: ['ops'] });
      expect(await world.visit(world.browser(), sub, {}, 'staff')).toBe('/sign-in?problem=invalid_credentials');
      expect(await world.membersOf((await world.running.members.store.get(id)).email)).toMatchObject([
        { is_operator: 0 },
      ]);
    });

    it('that links an identity does not link it to another member who signed in meanwhile', async () => {
      const { own } = await world.signedIn();
      const sub = world.newName();
      const { url } = await own.call<{ url: string }>('POST', '/sign-in/providers/company', { purpose: 'link' });
      const { email, id } = await memberWithPassword(world.database, world.running);
      await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
      const back = await idp.signIn(url, sub);
      const answer = await own.ask('GET', `${back.pathname.replace('/admin/v1', '')}${back.search}`);
      expect(answer.headers.location).toBe('/?problem=session_ended');
      expect(await world.running.members.signInMethods.findMethods(id)).toMatchObject({ issuers: [] });
    });

    it('cannot be unlinked if it is the only way to sign in', async () => {
      const sub = world.newName();
      const own = world.browser();
      await world.visit(own, sub, { purpose: 'invitation', token: await world.invitationFor(`${sub}@example.com`) });
      await own.call('GET', '/me');
      const [identity] = (await own.call<{ data: { id: string }[] }>('GET', '/me/identities')).data;
      const answer = await own.ask('DELETE', `/me/identities/${identity?.id}`);
      expect([answer.status, answer.json().code]).toEqual([409, 'last_way_to_sign_in']);
      expect(await world.visit(world.browser(), sub)).toBe('/');
    });
  });
});
