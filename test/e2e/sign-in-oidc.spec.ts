/** Signing in at a real identity provider: who has linked an identity comes in by it, and nobody by an address. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeUnless } from '../support/describe-with.js';
import { IdentityProvider, missingIdentityProvider, PROVIDER_CLIENT } from '../support/identity-provider.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from '../support/signed-in.js';

describeUnless(missingIdentityProvider())('a sign-in at an identity provider', () => {
  let database: DatabaseHandle;
  let idp: IdentityProvider;
  let running: RunningAdmin;

  beforeAll(async () => {
    [database, idp] = await Promise.all([testDatabase('sqlite'), IdentityProvider.start()]);
    const company = { issuer: idp.issuer, ...PROVIDER_CLIENT, label: 'Company' };
    running = await startAdmin(database, { settings: { signIn: { providers: { company } } } });
  });
  afterAll(async () => {
    await running?.close();
    await idp?.stop();
    await database?.close();
  });

  const browser = () => new PanelBrowser(running.url);

  /** There and back; where the browser is led in the end. */
  async function visit(own: PanelBrowser, sub: string, body: object = {}): Promise<string | undefined> {
    const { url } = await own.call<{ url: string }>('POST', '/sign-in/providers/company', body);
    const back = await idp.signIn(url, sub);
    const answer = await own.ask('GET', `${back.pathname.replace('/admin/v1', '')}${back.search}`);
    expect(answer.status).toBe(303);
    return answer.headers.location;
  }
  async function signedIn() {
    const member = await memberWithPassword(database, running);
    const own = browser();
    await own.call('POST', '/sign-in/password', { email: member.email, password: GOOD_PASSWORD });
    return { ...member, own };
  }

  it('is offered, and leads nobody in whose identity is not linked, whatever address it has', async () => {
    const { email } = await signedIn();
    await idp.tell('stranger', { email, email_verified: true });
    const own = browser();
    expect(await own.call('GET', '/sign-in')).toMatchObject({ providers: [{ id: 'company', label: 'Company' }] });
    expect(await visit(own, 'stranger')).toBe('/sign-in?problem=identity_unknown');
    expect(own.cookies.has('tg_session')).toBe(false);
  });

  it('leads in who has linked it while signed in, to the page that was asked for, also with a new address', async () => {
    const { own, id } = await signedIn();
    expect(await visit(own, 'ana', { purpose: 'link', return_to: '/me' })).toBe('/me');
    expect(await own.call('GET', '/me/identities')).toMatchObject({ data: [{ issuer: idp.issuer }] });
    await idp.tell('ana', { email: 'ana@elsewhere.example' });
    const next = browser();
    expect(await visit(next, 'ana', { return_to: '//evil.example' })).toBe('/');
    expect(await next.call('GET', '/me')).toMatchObject({ member: { id } });
    const [identity] = (await own.call<{ data: { id: string }[] }>('GET', '/me/identities')).data;
    await own.call('DELETE', `/me/identities/${identity?.id}`);
    expect(await visit(browser(), 'ana')).toBe('/sign-in?problem=identity_unknown');
  });

  it('is linked to one member: another is refused, and so is who is not signed in', async () => {
    const [first, second] = [await signedIn(), await signedIn()];
    await visit(first.own, 'ben', { purpose: 'link' });
    expect(await visit(second.own, 'ben', { purpose: 'link' })).toBe('/sign-in?problem=conflict');
    const answer = await browser().ask('POST', '/sign-in/providers/company', { purpose: 'link' });
    expect([answer.status, answer.json().code]).toEqual([401, 'missing_credentials']);
  });

  it('is nothing in another browser, with another state, a second time, or of a disabled member', async () => {
    const { own, id } = await signedIn();
    await visit(own, 'carla', { purpose: 'link' });
    const mine = browser();
    const { url } = await mine.call<{ url: string }>('POST', '/sign-in/providers/company', {});
    const back = await idp.signIn(url, 'carla');
    const path = `${back.pathname.replace('/admin/v1', '')}${back.search}`;
    const ended = '/sign-in?problem=sign_in_ended';
    expect((await browser().ask('GET', path)).headers.location).toBe(ended);
    const other = await mine.ask('GET', path.replace(/state=[^&]*/, 'state=x'));
    expect(other.headers.location).toBe('/sign-in?problem=invalid_credentials');
    expect((await mine.ask('GET', path)).headers.location).toBe(ended);
    await database.db.updateTable('member').set({ status: 'disabled' }).where('id', '=', id).execute();
    expect(await visit(browser(), 'carla')).toBe('/sign-in?problem=invalid_credentials');
  });

  it('is not begun from a page of another origin', async () => {
    const answer = await browser().ask('POST', '/sign-in/providers/company', {}, { 'Sec-Fetch-Site': 'cross-site' });
    expect([answer.status, answer.json().code]).toEqual([403, 'cross_site_request']);
  });
});
