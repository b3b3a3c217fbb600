/** Signing in at a real identity provider: what comes back is believed only where all of it belongs to this sign-in. */
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProviderConfig } from '../../src/config/model/admin-schema.js';
import type { DatabaseHandle } from '../../src/database/connect.js';
import { ProviderClients } from '../../src/members/providers/provider-clients.js';
import { Providers, type ProviderJourney } from '../../src/members/providers/providers.js';
import { SignInSteps } from '../../src/members/sign-in/steps.js';
import { systemClock } from '../../src/platform/clock.js';
import { testDatabase } from '../support/database.js';
import { describeUnless } from '../support/describe-with.js';
import { IdentityProvider, missingIdentityProvider, PROVIDER_CLIENT } from '../support/identity-provider.js';

const TO_SIGN_IN: ProviderJourney = { purpose: 'sign_in', memberId: null, linkHash: null, returnTo: '/usage' };

describeUnless(missingIdentityProvider())('an identity provider', () => {
  let database: DatabaseHandle;
  let idp: IdentityProvider;
  let configured: Record<string, ProviderConfig>;
  let providers: Providers;
  let warnings: { event: string; reason: unknown }[];

  beforeAll(async () => {
    idp = await IdentityProvider.start();
  });
  afterAll(async () => await idp.stop());

  const config = (fields: Partial<ProviderConfig> = {}): ProviderConfig => ({
    issuer: idp.issuer,
    ...PROVIDER_CLIENT,
    label: 'Company',
    scopes: ['openid', 'email', 'profile'],
    domains: [],
    operators: undefined,
    ...fields,
  });

  beforeEach(async () => {
    database = await testDatabase('sqlite');
    configured = { company: config() };
    warnings = [];
    providers = new Providers({
      providers: () => configured,
      clients: new ProviderClients(systemClock),
      steps: new SignInSteps(database.db, systemClock),
      clock: systemClock,
      log: { warn: (fields: unknown) => void warnings.push(fields as never) } as never,
      callbackUrl: (id) => `http://localhost:8081/admin/v1/sign-in/providers/${id}/callback`,
    });
  });
  afterEach(async () => await database.close());

  /** Goes there and back as somebody; the way back can be turned. */
  async function signIn(sub: string, journey = TO_SIGN_IN, turn: (callback: URLSearchParams) => void = () => {}) {
    const { url, step } = await providers.begin('company', journey);
    const back = await idp.signIn(url, sub);
    turn(back.searchParams);
    return await providers.finish('company', step.token, back.search);
  }

  const refused = { code: 'invalid_credentials', status: 401 };

  it('names whoever signs in there by issuer and subject, and leads back to where they wanted to go', async () => {
    await idp.tell('ana', { email: 'ana@new.example', name: 'Ana López' });
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

  it('is asked with PKCE, state and nonce, none of which stands in the database as the browser has it', async () => {
    const { url, step } = await providers.begin('company', TO_SIGN_IN);
    const asked = new URL(url).searchParams;
    expect(asked.get('code_challenge_method')).toBe('S256');
    expect(asked.get('state')).toMatch(/^[\w-]{43}$/);
    expect(asked.get('nonce')).toMatch(/^[\w-]{43}$/);
    const rows = JSON.stringify(await database.db.selectFrom('sign_in_step').selectAll().execute());
    expect(rows).not.toContain(step.token);
    expect(url).not.toContain(JSON.parse(JSON.parse(rows)[0].data).codeVerifier);
  });

  it('may tell the address in the ID token or at its userinfo endpoint', async () => {
    const other = await IdentityProvider.start({ hasClaimsInToken: true });
    try {
      configured = { company: config({ issuer: other.issuer }) };
      const { url, step } = await providers.begin('company', TO_SIGN_IN);
      const back = await other.signIn(url, 'ben');
      const { identity } = await providers.finish('company', step.token, back.search);
      expect(identity).toMatchObject({ issuer: other.issuer, email: 'ben@example.com', isEmailVerified: true });
    } finally {
      await other.stop();
    }
  });

  it.each([
    ['says nothing of it', { email_verified: null }, false],
    ['says no', { email_verified: false }, false],
    ['says yes in text', { email_verified: 'true' }, true],
    ['has no address', { email: null }, false],
    ['has none that is one', { email: 'ana' }, false],
  ])('has verified an address or not: where it %s', async (_what, claims, isEmailVerified) => {
    await idp.tell('carla', claims);
    expect((await signIn('carla')).identity).toMatchObject({ subject: 'carla', isEmailVerified });
  });

  it('of some domains signs in nobody else, however verified', async () => {
    configured = { company: config({ domains: ['example.com'] }) };
    expect((await signIn('dora')).identity.email).toBe('dora@example.com');
    await idp.tell('dora', { email: 'dora@evil-example.com' });
    await expect(signIn('dora')).rejects.toMatchObject({ code: 'identity_unknown', status: 403 });
    await idp.tell('dora', { email: 'dora@example.com', email_verified: false });
    await expect(signIn('dora')).rejects.toMatchObject({ code: 'identity_unknown' });
  });

  it('makes those operators who have the claim, in a list or alone, and nobody else', async () => {
    configured = { company: config({ operators: { claim: 'groups', value: 'ops' } }) };
    const isOperator = async (groups: unknown) => {
      await idp.tell('eva', { groups });
      return (await signIn('eva')).identity.isOperator;
    };
    expect(await isOperator(['dev', 'ops'])).toBe(true);
    expect(await isOperator('ops')).toBe(true);
    expect(await isOperator(['dev', 'ops-trainees'])).toBe(false);
    expect(await isOperator('not-ops')).toBe(false);
    expect(await isOperator(undefined)).toBe(false);
  });

  describe('is not believed', () => {
    it.each<[string, (callback: URLSearchParams) => void]>([
      ['another state', (callback) => callback.set('state', 'x'.repeat(43))],
      ['no state', (callback) => callback.delete('state')],
      ['another issuer, which mixes up two providers', (callback) => callback.set('iss', 'https://evil.example')],
      ['a code that was never given out', (callback) => callback.set('code', 'x'.repeat(43))],
      ['two codes', (callback) => callback.append('code', 'x')],
      ['what the person refused', (callback) => (callback.delete('code'), callback.set('error', 'access_denied'))],
    ])('with %s', async (_what, turn) => {
      await expect(signIn('ana', TO_SIGN_IN, turn)).rejects.toMatchObject(refused);
      expect(warnings).toMatchObject([{ event: 'identity_refused', provider: 'company' }]);
    });

    it('with a code of another sign-in, nor with its nonce', async () => {
      const [mine, theirs] = [
        await providers.begin('company', TO_SIGN_IN),
        await providers.begin('company', TO_SIGN_IN),
      ];
      const back = await idp.signIn(theirs.url, 'mallory');
      back.searchParams.set('state', new URL(mine.url).searchParams.get('state') ?? '');
      await expect(providers.finish('company', mine.step.token, back.search)).rejects.toMatchObject(refused);
      await expect(
        signIn('ana', TO_SIGN_IN, () => undefined).then(async () => {
          const { url, step } = await providers.begin('company', TO_SIGN_IN);
          const own = await idp.signIn(url, 'ana');
          const [row] = await database.db
            .selectFrom('sign_in_step')
            .selectAll()
            .orderBy('expires_at', 'desc')
            .execute();
          const data = JSON.stringify({ ...JSON.parse(row?.data ?? ''), nonce: 'x'.repeat(43) });
          await database.db.updateTable('sign_in_step').set({ data }).execute();
          return await providers.finish('company', step.token, own.search);
        }),
      ).rejects.toMatchObject(refused);
    });

    it('twice with the same way back, nor in another browser', async () => {
      const { url, step } = await providers.begin('company', TO_SIGN_IN);
      const back = await idp.signIn(url, 'ana');
      const ended = { code: 'sign_in_ended', status: 401 };
      await expect(providers.finish('company', undefined, back.search)).rejects.toMatchObject(ended);
      await providers.finish('company', step.token, back.search);
      await expect(providers.finish('company', step.token, back.search)).rejects.toMatchObject(ended);
    });

    it('with a sign-in that was begun at another provider', async () => {
      configured = { company: config(), other: config({ label: 'Other' }) };
      const { url, step } = await providers.begin('other', TO_SIGN_IN);
      const back = await idp.signIn(url, 'ana');
      await expect(providers.finish('company', step.token, back.search)).rejects.toMatchObject(refused);
    });

    it('to confirm somebody who did not sign in there anew', async () => {
      const journey = { ...TO_SIGN_IN, purpose: 'confirm', memberId: 'mem_1' } as const;
      const { url } = await providers.begin('company', journey);
      expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({ prompt: 'login', max_age: '0' });
      expect((await signIn('ana', journey)).identity.authTime).toBeGreaterThan(systemClock.now() / 1_000 - 60);
      // Whoever takes prompt and max_age out of the address gets a token without the time of a fresh sign-in.
      const sly = await providers.begin('company', journey);
      const without = new URL(sly.url);
      for (const name of ['prompt', 'max_age']) without.searchParams.delete(name);
      const back = await idp.signIn(without.href, 'ana');
      await expect(providers.finish('company', sly.step.token, back.search)).rejects.toMatchObject(refused);
    });
  });

  it('that nobody has configured is none, whatever its name', async () => {
    for (const id of ['elsewhere', 'constructor', '__proto__', 'toString']) {
      await expect(providers.begin(id, TO_SIGN_IN)).rejects.toMatchObject({ code: 'resource_not_found' });
    }
  });

  describe('that is not well', () => {
    const unavailable = { code: 'identity_provider_unavailable', status: 503 };
    let server: Server | undefined;
    afterEach(() => {
      server?.closeAllConnections();
      server?.close();
    });

    /** An issuer that responds with this to everything. */
    async function issuerThatSays(body: string | Buffer, type = 'application/json', status = 200): Promise<string> {
      server = createServer(
        (_request, response) => void response.writeHead(status, { 'content-type': type }).end(body),
      );
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    }

    it.each([
      ['a page', '<html>hello</html>', 'text/html', 200],
      ['nonsense', '{"issuer":', 'application/json', 200],
      ['another issuer', '{"issuer":"https://evil.example"}', 'application/json', 200],
      ['no endpoints', '{}', 'application/json', 200],
      ['an error', 'oops', 'text/plain', 500],
      ['a redirect', '', 'text/plain', 302],
      ['a response without end', Buffer.alloc(3_000_000, ' '), 'application/json', 200],
    ])('and says %s is 503, and the log says why', async (_what, body, type, status) => {
      configured = { company: config({ issuer: await issuerThatSays(body, type, status) }) };
      await expect(providers.begin('company', TO_SIGN_IN)).rejects.toMatchObject(unavailable);
      expect(warnings).toMatchObject([{ event: 'identity_provider_failed', provider: 'company' }]);
    });

    it('and is away is 503; it is asked again after a while, and not with everybody who tries', async () => {
      let nowMs = systemClock.now();
      const clock = { now: () => nowMs };
      const closed = createTcpServer().listen(0, '127.0.0.1');
      await once(closed, 'listening');
      const { port } = closed.address() as AddressInfo;
      let asked = 0;
      closed.on('connection', (socket) => {
        asked++;
        socket.destroy();
      });
      const provider = config({ issuer: `http://127.0.0.1:${port}` });
      const clients = new ProviderClients(clock);
      for (let person = 0; person < 50; person++)
        await expect(clients.find('company', provider)).rejects.toThrow(/went wrong|fetch failed/);
      const first = asked;
      expect(first).toBeGreaterThan(0);
      nowMs += 5_001;
      await expect(clients.find('company', provider)).rejects.toThrow(/went wrong|fetch failed/);
      expect(asked).toBeGreaterThan(first);
      closed.close();
      await expect(clients.find('company', config())).resolves.toBeDefined();
    });

    it('and hangs is given up within seconds, at each of its endpoints', async () => {
      const own = await IdentityProvider.start();
      try {
        configured = { company: config({ issuer: own.issuer }) };
        const { url, step } = await providers.begin('company', TO_SIGN_IN);
        const back = await own.signIn(url, 'ana');
        own.freeze();
        const begunMs = performance.now();
        await expect(providers.finish('company', step.token, back.search)).rejects.toMatchObject(unavailable);
        expect(performance.now() - begunMs).toBeGreaterThan(4_000);
        expect(performance.now() - begunMs).toBeLessThan(30_000);
        expect(warnings).toMatchObject([{ event: 'identity_provider_failed', reason: 'OAUTH_TIMEOUT' }]);
      } finally {
        own.thaw();
        await own.stop();
      }
    });

    it('and does not take our secret any more is 503, too: nobody who signs in can mend that', async () => {
      configured = { company: config({ clientSecret: 'another secret' }) };
      await expect(signIn('ana')).rejects.toMatchObject(unavailable);
    });
  });
});
