/** Invitations accepted by signing in at a real identity provider: once, and only with the verified address. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeOnDatabases } from '../support/describe-with.js';
import { IdentityProvider } from '../support/identity-provider.js';
import { ProviderWorld } from '../support/provider-world.js';

describe('at an identity provider', () => {
  let idp: IdentityProvider;
  beforeAll(async () => {
    idp = await IdentityProvider.start();
  });
  afterAll(async () => await idp?.stop());

  describeOnDatabases('an invitation', (kind) => {
    let world: ProviderWorld;
    beforeAll(async () => {
      world = await ProviderWorld.start(idp, kind);
    });
    afterAll(async () => await world?.close());

    it('is accepted once with its verified address, which creates, links and joins a member', async () => {
      const sub = world.newName();
      const email = `${sub}@example.com`;
      const token = await world.invitationFor(email.toUpperCase().replace('EXAMPLE.COM', 'example.com'), 'admin');
      const own = world.browser();
      expect(await own.call('POST', '/links/read', { token })).toMatchObject({
        ways: ['password', 'provider', 'sign_in'],
      });
      await idp.setClaims(sub, { name: 'Bea Ruiz' });
      expect(await world.visit(own, sub, { purpose: 'invitation', token, return_to: '/usage' })).toBe('/usage');
      const me = await own.call<{ member: { id: string }; accounts: object[] }>('GET', '/me');
      expect(me).toMatchObject({
        member: { name: 'Bea Ruiz', has_password: false, is_operator: false },
        accounts: [{ id: world.accountId, role: 'admin' }],
      });
      expect((await world.entriesOf(me.member.id)).map(({ action }) => action)).toEqual([
        'member.created',
        'member.identity_linked',
        'member.joined',
        'sign_in.succeeded',
      ]);
      // The member can now sign in at the provider, and the link is used up.
      expect(await world.visit(world.browser(), sub)).toBe('/');
      const again = await world.browser().ask('POST', '/sign-in/providers/company', { purpose: 'invitation', token });
      expect([again.status, again.json().code]).toEqual([410, 'link_ended']);
    });

    it.each([
      ['of another address', { email: 'somebody@else.example' }],
      ['of an address that nobody verified', { email_verified: false }],
      ['of an address of which nobody says whether', { email_verified: null }],
      ['without an address', { email: null }],
    ])('is not accepted by an identity %s; no member is created and the link stays valid', async (_what, claims) => {
      const sub = world.newName();
      const token = await world.invitationFor(`${sub}@example.com`);
      await idp.setClaims(sub, claims);
      const own = world.browser();
      expect(await world.visit(own, sub, { purpose: 'invitation', token })).toBe('/sign-in?problem=identity_unknown');
      expect(own.cookies.has('tg_session')).toBe(false);
      expect(await world.membersOf(`${sub}@example.com`)).toEqual([]);
      await idp.setClaims(sub, {});
      expect(await world.visit(own, sub, { purpose: 'invitation', token })).toBe('/');
    });

    it('of a member is accepted only by an identity linked to them, not by a matching address', async () => {
      const { email, own, id } = await world.signedIn();
      const sub = world.newName();
      await idp.setClaims(sub, { email });
      const token = await world.invitationFor(email);
      const stranger = world.browser();
      expect(await world.visit(stranger, sub, { purpose: 'invitation', token })).toBe(
        '/sign-in?problem=missing_credentials',
      );
      expect(stranger.cookies.has('tg_session')).toBe(false);
      await world.visit(own, sub, { purpose: 'link' });
      expect(await world.visit(stranger, sub, { purpose: 'invitation', token })).toBe('/');
      expect(await stranger.call('GET', '/me')).toMatchObject({ member: { id }, accounts: [{ id: world.accountId }] });
    });

    it('is accepted once by two concurrent sign-ins, and not at all if it is revoked meanwhile', async () => {
      const [one, other] = [world.newName(), world.newName()];
      await idp.setClaims(other, { email: `${one}@example.com` });
      const token = await world.invitationFor(`${one}@example.com`);
      const body = { purpose: 'invitation', token };
      const led = await Promise.all([
        world.visit(world.browser(), one, body),
        world.visit(world.browser(), other, body),
      ]);
      expect(led.toSorted()).toEqual(['/', '/sign-in?problem=link_ended']);
      expect(await world.membersOf(`${one}@example.com`)).toHaveLength(1);

      const sub = world.newName();
      const path = `/accounts/${world.accountId}/invitations`;
      const invited = { email: `${sub}@example.com`, role: 'viewer' };
      const made = await world.running.admin.call<{ id: string; link: string }>('POST', path, invited);
      const late = world.browser();
      const { url } = await late.call<{ url: string }>('POST', '/sign-in/providers/company', {
        purpose: 'invitation',
        token: made.link.split('#')[1],
      });
      const back = await idp.signIn(url, sub);
      await world.running.admin.request('DELETE', `/invitations/${made.id}`);
      const answer = await late.ask('GET', `${back.pathname.replace('/admin/v1', '')}${back.search}`);
      expect(answer.headers.location).toBe('/sign-in?problem=link_ended');
      expect(await world.membersOf(`${sub}@example.com`)).toEqual([]);
    });

    it('is the only kind of link that a sign-in accepts, and its token is required', async () => {
      const { id } = await world.signedIn();
      const reset = await world.running.admin.call<{ link: string }>('POST', `/members/${id}/password-reset-links`);
      const ask = async (body: object) => {
        const answer = await world.browser().ask('POST', '/sign-in/providers/company', body);
        return [answer.status, answer.json().code];
      };
      const token = reset.link.split('#')[1];
      expect(await ask({ purpose: 'invitation', token })).toEqual([410, 'link_ended']);
      expect(await ask({ purpose: 'invitation' })).toEqual([422, 'validation_failed']);
      expect(await ask({ purpose: 'sign_in', token })).toEqual([422, 'validation_failed']);
    });
  });
});
