/**
 * Identity confirmation by signing in again at a real identity provider. Also covers members with no means of
 * confirmation.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeOnDatabases } from '../support/describe-with.js';
import { IdentityProvider } from '../support/identity-provider.js';
import { ProviderWorld } from '../support/provider-world.js';
import { newMember } from '../support/signed-in.js';

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

    it('that is repeated confirms the session again; one with another or unknown identity does not', async () => {
      const sub = world.newName();
      const email = `${sub}@example.com`;
      const own = world.browser();
      await world.visit(own, sub, { purpose: 'invitation', token: await world.invitationFor(email, 'owner') });
      await own.call('GET', '/me');
      const create = async () => {
        const key = { name: 'x', scopes: ['*'] };
        const answer = await own.ask('POST', `/accounts/${world.accountId}/api-keys`, key);
        return [answer.status, answer.json().confirm_with];
      };
      expect(await create()).toEqual([201, undefined]);
      world.running.clock.advance(11 * MINUTE_MS);
      expect(await create()).toEqual([403, ['oidc']]);
      // Sets our clock back, because the clock of the provider has not moved.
      world.running.clock.advance(-11 * MINUTE_MS);
      const confirmedAt = world.running.clock.now() - 11 * MINUTE_MS;
      await world.database.db.updateTable('member_session').set({ confirmed_at: confirmedAt }).execute();
      const cookie = own.cookies.get('tg_session');
      const confirming = { purpose: 'confirm', return_to: '/api-keys/new' };
      const failed = '/api-keys/new?problem=invalid_credentials';
      expect(await world.visit(own, world.newName(), confirming)).toBe(failed);
      const other = await world.signedIn();
      const theirs = world.newName();
      await world.visit(other.own, theirs, { purpose: 'link' });
      expect(await world.visit(own, theirs, confirming)).toBe(failed);
      expect(await create()).toEqual([403, ['oidc']]);
      expect(await world.visit(own, sub, confirming)).toBe('/api-keys/new');
      expect(own.cookies.get('tg_session')).toBe(cookie);
      expect(await create()).toEqual([201, undefined]);
      const unlinked = await (await world.signedIn()).own.ask('POST', '/sign-in/providers/company', confirming);
      expect([unlinked.status, unlinked.json().code]).toEqual([409, 'conflict']);
    });

    it('confirms a session that began at the provider, but not one with password and authenticator app', async () => {
      const { own, id } = await world.signedIn();
      const sub = world.newName();
      await world.visit(own, sub, { purpose: 'link' });
      const viaProvider = world.browser();
      await world.visit(viaProvider, sub);
      await viaProvider.call('GET', '/me');
      await world.database.db.updateTable('member').set({ totp_confirmed_at: 1 }).where('id', '=', id).execute();
      await world.database.db.updateTable('member_session').set({ confirmed_at: 1 }).execute();
      const waysOf = async (browser: typeof own) => (await browser.ask('DELETE', '/me/totp')).json().confirm_with;
      expect(await waysOf(own)).toEqual(['password_and_code']);
      expect(await waysOf(viaProvider)).toEqual(['password_and_code', 'oidc']);
      const confirming = { purpose: 'confirm', return_to: '/profile' };
      const refused = await own.ask('POST', '/sign-in/providers/company', confirming);
      expect([refused.status, refused.json().code]).toEqual([409, 'conflict']);
      expect(await world.visit(viaProvider, sub, confirming)).toBe('/profile');
      expect((await viaProvider.ask('DELETE', '/me/totp')).status).toBe(204);
    });

    it('is not required of the demo member; a member with no means of confirmation gets a clear error', async () => {
      const id = await newMember(world.database, { roles: { [world.accountId]: 'owner' } });
      const { token } = await world.running.members.sessions.createSession({ memberId: id }, 'link', {
        ip: '::1',
        userAgent: '',
      });
      const own = world.browser();
      own.cookies.set('tg_session', token);
      await own.call('GET', '/me');
      const demo = world.browser();
      await demo.call('POST', '/links/take', { token: await world.running.members.firstOwner.startLink() });
      world.running.clock.advance(11 * MINUTE_MS);
      const key = { name: 'x', scopes: ['*'] };
      const refused = await own.ask('POST', `/accounts/${world.accountId}/api-keys`, key);
      expect([refused.status, refused.json()]).toMatchObject([
        403,
        {
          code: 'confirmation_required',
          confirm_with: [],
          detail: expect.stringContaining('nothing to confirm your identity with'),
        },
      ]);
      expect((await demo.ask('POST', `/accounts/${world.accountId}/api-keys`, key)).status).toBe(201);
      world.running.clock.advance(-11 * MINUTE_MS);
    });
  });
});
