/** Sign-in with a real OpenID Connect provider: a callback is accepted only if all of it belongs to this sign-in. */
import { hash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProviderConfig } from '../../src/config/model/admin-schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { Providers } from '../../src/members/providers/providers.js';
import { systemClock } from '../../src/platform/clock.js';
import { testDatabase } from '../support/database.js';
import { IdentityProvider } from '../support/identity-provider.js';
import { OpenProviders, providerConfig, TO_SIGN_IN } from '../support/open-providers.js';

describe('an identity provider', () => {
  let database: DatabaseHandle;
  let idp: IdentityProvider;
  let open: OpenProviders;
  let providers: Providers;

  beforeAll(async () => {
    idp = await IdentityProvider.start();
  });
  afterAll(async () => await idp.stop());
  beforeEach(async () => {
    database = await testDatabase('sqlite');
    open = new OpenProviders(database);
    ({ providers } = open);
    configure();
  });
  afterEach(async () => await database.close());

  const config = (fields: Partial<ProviderConfig> = {}): ProviderConfig => providerConfig(idp.issuer, fields);
  const configure = (fields: Partial<ProviderConfig> = {}, more: Record<string, ProviderConfig> = {}) => {
    open.configured = { company: config(fields), ...more };
  };
  const finish = async (stepToken: string | undefined, query: string) => await open.finish(stepToken, query);

  /** Signs in as a subject. `turn` can change the parameters of the callback. */
  async function signIn(sub: string, journey = TO_SIGN_IN, turn: (callback: URLSearchParams) => void = () => {}) {
    const { url, step } = await providers.beginSignIn('company', journey);
    const back = await idp.signIn(url, sub);
    turn(back.searchParams);
    return await finish(step.token, back.search);
  }

  const refused = { code: 'invalid_credentials', status: 401 };

  it('identifies a person by issuer and subject, and returns the path to go back to', async () => {
    await idp.setClaims('ana', { email: 'ana@new.example', name: 'Ana López' });
    expect(await signIn('ana')).toEqual({
      purpose: 'sign_in',
      memberId: null,
      linkHash: null,
      returnTo: '/usage',
      identity: {
        provider: 'company',
        issuer: idp.issuer,
        subject: 'ana',
        email: 'ana@new.example',
        isEmailVerified: true,
        name: 'Ana López',
        isOperator: null,
        authTime: null,
      },
    });
    expect((await signIn('ana', { ...TO_SIGN_IN, returnTo: '//evil.example' })).returnTo).toBe('/');
  });

  it('gets PKCE, state and nonce, new for each sign-in, and the step token and code verifier stay secret', async () => {
    const { url, step } = await providers.beginSignIn('company', TO_SIGN_IN);
    const asked = new URL(url).searchParams;
    const rows = await database.db.selectFrom('sign_in_step').selectAll().execute();
    const { codeVerifier } = JSON.parse(rows[0]?.data ?? '') as { codeVerifier: string };
    expect(asked.get('code_challenge_method')).toBe('S256');
    expect(asked.get('code_challenge')).toBe(hash('sha256', codeVerifier, 'base64url'));
    expect(codeVerifier).toMatch(/^[\w-]{43,128}$/);
    expect(asked.get('state')).toMatch(/^[\w-]{43}$/);
    expect(asked.get('nonce')).toMatch(/^[\w-]{43}$/);
    expect(JSON.stringify(rows)).not.toContain(step.token);
    expect(url).not.toContain(codeVerifier);
    const again = new URL((await providers.beginSignIn('company', TO_SIGN_IN)).url).searchParams;
    const names = ['state', 'nonce', 'code_challenge'];
    expect(new Set(names.flatMap((name) => [asked.get(name), again.get(name)])).size).toBe(6);
  });

  it('may return the email address in the ID token', async () => {
    const other = await IdentityProvider.start({ hasClaimsInToken: true });
    try {
      configure({ issuer: other.issuer });
      const { url, step } = await providers.beginSignIn('company', TO_SIGN_IN);
      const back = await other.signIn(url, 'ben');
      const { identity } = await finish(step.token, back.search);
      expect(identity).toMatchObject({ issuer: other.issuer, email: 'ben@example.com', isEmailVerified: true });
    } finally {
      await other.stop();
    }
  });

  it('may return the operator claim at its userinfo endpoint, even with the email in the ID token', async () => {
    const other = await IdentityProvider.start({ hasClaimsInToken: true });
    try {
      configure({ issuer: other.issuer, operators: { claim: 'groups', value: 'ops' } });
      await other.setClaims('ben', { atUserInfo: { groups: ['ops'] } });
      const { url, step } = await providers.beginSignIn('company', TO_SIGN_IN);
      const { identity } = await finish(step.token, (await other.signIn(url, 'ben')).search);
      expect(identity).toMatchObject({ email: 'ben@example.com', isOperator: true });
    } finally {
      await other.stop();
    }
  });

  it.each([
    ['says nothing of it', { email_verified: null }, false],
    ['says no', { email_verified: false }, false],
    ['says yes in text', { email_verified: 'true' }, false],
    ['has no address', { email: null }, false],
    ['has none that is one', { email: 'ana' }, false],
  ])('has not verified an email address when it %s', async (_what, claims, isEmailVerified) => {
    await idp.setClaims('carla', claims);
    expect((await signIn('carla')).identity).toMatchObject({ subject: 'carla', isEmailVerified });
  });

  it('limited to some domains accepts only verified addresses of these domains', async () => {
    configure({ domains: ['example.com'] });
    expect((await signIn('dora')).identity.email).toBe('dora@example.com');
    await idp.setClaims('dora', { email: 'dora@evil-example.com' });
    await expect(signIn('dora')).rejects.toMatchObject({ code: 'identity_unknown', status: 403 });
    await idp.setClaims('dora', { email: 'dora@example.com', email_verified: false });
    await expect(signIn('dora')).rejects.toMatchObject({ code: 'identity_unknown' });
  });

  it('makes a person an operator if the claim has the value, in a list or alone', async () => {
    configure({ operators: { claim: 'groups', value: 'ops' } });
    const isOperator = async (groups: unknown) => {
      await idp.setClaims('eva', { groups });
      return (await signIn('eva')).identity.isOperator;
    };
    expect(await isOperator(['dev', 'ops'])).toBe(true);
    expect(await isOperator('ops')).toBe(true);
    expect(await isOperator(['dev', 'ops-trainees'])).toBe(false);
    expect(await isOperator('not-ops')).toBe(false);
    expect(await isOperator(undefined)).toBe(false);
  });

  describe('has its callback rejected', () => {
    it.each<[string, (callback: URLSearchParams) => void]>([
      ['another state', (callback) => callback.set('state', 'x'.repeat(43))],
      ['no state', (callback) => callback.delete('state')],
      ['another issuer, which mixes up two providers', (callback) => callback.set('iss', 'https://evil.example')],
      ['a code that was never given out', (callback) => callback.set('code', 'x'.repeat(43))],
      ['two codes', (callback) => callback.append('code', 'x')],
      ['what the person refused', (callback) => (callback.delete('code'), callback.set('error', 'access_denied'))],
    ])('with %s', async (_what, turn) => {
      await expect(signIn('ana', TO_SIGN_IN, turn)).rejects.toMatchObject(refused);
      expect(open.warnings).toMatchObject([{ event: 'identity_refused', provider: 'company' }]);
    });

    it('with a code of another sign-in, because the code verifier does not match', async () => {
      const [mine, theirs] = [
        await providers.beginSignIn('company', TO_SIGN_IN),
        await providers.beginSignIn('company', TO_SIGN_IN),
      ];
      const back = await idp.signIn(theirs.url, 'mallory');
      back.searchParams.set('state', new URL(mine.url).searchParams.get('state') ?? '');
      await expect(finish(mine.step.token, back.search)).rejects.toMatchObject(refused);
      expect(open.warnings).toMatchObject([{ event: 'identity_refused', error: 'invalid_grant' }]);
    });

    it.each([
      ['state', { reason: 'OAUTH_INVALID_RESPONSE' }],
      ['nonce', { reason: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' }],
      ['code_challenge', { reason: 'OAUTH_RESPONSE_BODY_ERROR', error: 'invalid_grant' }],
    ])('if the provider received the %s of another sign-in', async (name, why) => {
      const [mine, theirs] = [
        await providers.beginSignIn('company', TO_SIGN_IN),
        await providers.beginSignIn('company', TO_SIGN_IN),
      ];
      const swapped = new URL(mine.url);
      swapped.searchParams.set(name, new URL(theirs.url).searchParams.get(name) ?? '');
      const back = await idp.signIn(swapped.href, 'ana');
      await expect(finish(mine.step.token, back.search)).rejects.toMatchObject(refused);
      expect(open.warnings).toMatchObject([{ event: 'identity_refused', ...why }]);
      const own = await finish(theirs.step.token, (await idp.signIn(theirs.url, 'ana')).search);
      expect(own.identity.subject).toBe('ana');
    });

    it('when it is used twice or comes from another browser', async () => {
      const { url, step } = await providers.beginSignIn('company', TO_SIGN_IN);
      const back = await idp.signIn(url, 'ana');
      const ended = { code: 'sign_in_ended', status: 401 };
      await expect(finish(undefined, back.search)).rejects.toMatchObject(ended);
      await finish(step.token, back.search);
      await expect(finish(step.token, back.search)).rejects.toMatchObject(ended);
    });

    it('for a sign-in that began at another provider', async () => {
      configure({}, { other: config({ label: 'Other' }) });
      const { url, step } = await providers.beginSignIn('other', TO_SIGN_IN);
      const back = await idp.signIn(url, 'ana');
      await expect(finish(step.token, back.search)).rejects.toMatchObject(refused);
      // The provider is not called, because it would receive the code of the other provider.
      const again = await providers.beginSignIn('other', TO_SIGN_IN);
      configure({ issuer: 'http://127.0.0.1:1' }, { other: config({ label: 'Other' }) });
      await expect(finish(again.step.token, back.search)).rejects.toMatchObject(refused);
    });

    it('for a confirmation without a fresh sign-in at the provider', async () => {
      const journey = { ...TO_SIGN_IN, purpose: 'confirm', memberId: 'mem_1' } as const;
      const { url } = await providers.beginSignIn('company', journey);
      expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({ prompt: 'login', max_age: '0' });
      expect((await signIn('ana', journey)).identity.authTime).toBeGreaterThan(systemClock.now() / 1_000 - 60);
      // Without `prompt` and `max_age` in the URL, the token has no authentication time.
      const sly = await providers.beginSignIn('company', journey);
      const without = new URL(sly.url);
      for (const name of ['prompt', 'max_age']) without.searchParams.delete(name);
      const back = await idp.signIn(without.href, 'ana');
      await expect(finish(sly.step.token, back.search)).rejects.toMatchObject(refused);
    });

    it('for a confirmation whose token has an authentication time before the confirmation began', async () => {
      const later = { now: () => systemClock.now() + 60_000 };
      const journey = { ...TO_SIGN_IN, purpose: 'confirm', memberId: 'mem_1' } as const;
      const own = new Providers({ ...open.parts, clock: later });
      const { url, step } = await own.beginSignIn('company', journey);
      const back = await idp.signIn(url, 'ana');
      await expect(own.verifyCallback('company', await own.consumeStep(step.token), back.search)).rejects.toMatchObject(
        refused,
      );
    });
  });

  it('that is not configured is not found, whatever its name', async () => {
    for (const id of ['elsewhere', 'constructor', '__proto__', 'toString']) {
      await expect(providers.beginSignIn(id, TO_SIGN_IN)).rejects.toMatchObject({ code: 'resource_not_found' });
    }
  });
});
