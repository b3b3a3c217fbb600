/** A malicious identity provider, or an attacker between it and us: only valid claims are accepted. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProviderConfig } from '../../src/config/model/admin-schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { testDatabase } from '../support/database.js';
import { LyingProvider, type Lies } from '../support/lying-provider.js';
import { OpenProviders, providerConfig, TO_SIGN_IN } from '../support/open-providers.js';

describe('a malicious identity provider', () => {
  let database: DatabaseHandle;
  let provider: LyingProvider;
  let open: OpenProviders;

  beforeEach(async () => {
    database = await testDatabase('sqlite');
    provider = await LyingProvider.start();
    open = new OpenProviders(database);
    open.configured = { company: providerConfig(provider.issuer) };
  });
  afterEach(async () => {
    provider.close();
    await database.close();
  });

  /** Signs in with these lies of the provider. */
  async function signIn(lies: Lies, fields: Partial<ProviderConfig> = {}) {
    provider.lies = lies;
    open.configured = { company: providerConfig(provider.issuer, fields) };
    const { url, step } = await open.providers.beginSignIn('company', TO_SIGN_IN);
    return (await open.finish(step.token, provider.signIn(url))).identity;
  }

  const now = Math.floor(Date.now() / 1_000);

  it('can sign a person in with a correct response', async () => {
    expect(await signIn({})).toMatchObject({ subject: 'ana', email: 'ana@example.com', isEmailVerified: true });
  });

  const REFUSED = 'invalid_credentials';
  const UNAVAILABLE = 'identity_provider_unavailable';
  const signsNone = { id_token_signing_alg_values_supported: ['none'] };

  it.each<[string, Lies, string]>([
    ['for another program', { claims: { aud: 'another' } }, REFUSED],
    ['for two, of whom the other asked', { claims: { aud: ['trailgate', 'another'], azp: 'another' } }, REFUSED],
    ['of another issuer', { claims: { iss: 'https://accounts.google.com' } }, REFUSED],
    ['that has expired', { claims: { exp: now - 120 } }, REFUSED],
    ['without an end', { claims: { exp: undefined } }, REFUSED],
    ['that begins tomorrow', { claims: { nbf: now + 86_400 } }, REFUSED],
    ['with the nonce of another sign-in', { claims: { nonce: 'x'.repeat(43) } }, REFUSED],
    ['without a nonce', { claims: { nonce: undefined } }, REFUSED],
    ['that nobody signed', { header: { alg: 'none' }, signature: 'none' }, REFUSED],
    [
      'that nobody signed, where that is said to be usual',
      { header: { alg: 'none' }, signature: 'none', metadata: signsNone },
      UNAVAILABLE,
    ],
    ['whose signature was cut off', { signature: 'none' }, REFUSED],
    ['that another key signed', { signature: 'another key' }, REFUSED],
    ['that our own secret signed', { header: { alg: 'HS256' }, signature: 'our secret' }, REFUSED],
    ['that names a key which is not there', { header: { kid: 'two' } }, UNAVAILABLE],
  ])('has its ID token rejected %s', async (_what, lies, code) => {
    await expect(signIn(lies)).rejects.toMatchObject({ code });
    expect(open.warnings).toHaveLength(1);
  });

  it.each<[string, unknown]>([
    ['nobody', ''],
    ['a number', 7],
    ['what PostgreSQL has no text for', 'a\0b'],
    ['half a character, which is kept as another', 'a\ud800'],
    ['more than any index holds', 'x'.repeat(100_000)],
  ])('has its ID token rejected whose subject is %s', async (_what, sub) => {
    await expect(signIn({ claims: { sub } })).rejects.toMatchObject({ code: REFUSED });
    expect(open.warnings).toMatchObject([{ event: 'identity_refused' }]);
  });

  it('has its userinfo response rejected if the subject differs from the ID token', async () => {
    const lies = { claims: { email: undefined }, userInfo: { sub: 'bea', email: 'bea@example.com' } };
    await expect(signIn(lies)).rejects.toMatchObject({ code: UNAVAILABLE });
  });

  it('verifies an email address only by a claim from the same source', async () => {
    const operators = { claim: 'groups', value: 'ops' };
    const elsewhere = {
      claims: { email_verified: undefined },
      userInfo: { email: 'bea@example.com', email_verified: true },
    };
    expect(await signIn(elsewhere, { operators })).toMatchObject({ email: 'ana@example.com', isEmailVerified: false });
    const swapped = { claims: { email: undefined }, userInfo: { email: 'bea@example.com', email_verified: false } };
    expect(await signIn(swapped)).toMatchObject({ email: 'bea@example.com', isEmailVerified: false });
  });

  it.each(['javascript:alert(1)//', 'data:text/html,x', 'file:///etc/passwd', 'nowhere'])(
    'cannot redirect a person to %s',
    async (endpoint) => {
      provider.lies = { metadata: { authorization_endpoint: endpoint } };
      await expect(open.providers.beginSignIn('company', TO_SIGN_IN)).rejects.toMatchObject({ code: UNAVAILABLE });
    },
  );

  it.each<[unknown, string | null]>([
    ['Ana\r\nBcc: evil@example.com', null],
    ['Ana \u202Egnp.exe', null],
    ['A\0na', null],
    ['   ', null],
    [{ name: 'Ana' }, null],
    [`${'x'.repeat(199)}😀`, 'x'.repeat(199)],
    [' Ana López ', 'Ana López'],
  ])('that returns the name %j gives the person the name %j', async (name, expected) => {
    expect((await signIn({ claims: { name } })).name).toBe(expected);
  });
});
