/** Passkeys on SQLite and PostgreSQL. A response with any wrong claim is rejected, and a challenge works once. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { Passkeys } from '../../src/members/sign-in/passkeys.js';
import { BestEffortWrites } from '../../src/members/best-effort-writes.js';
import { Sessions } from '../../src/members/sessions.js';
import { SignInNotices } from '../../src/members/sign-in/sign-in-notices.js';
import { SignInSteps } from '../../src/members/sign-in/sign-in-steps.js';
import { Authenticator, type Claims } from '../support/authenticator.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { writeMember } from '../support/members.js';
import { SignInMethods, type OfferedMethods } from '../../src/members/sign-in-methods.js';
import { OPERATOR, TestClock } from '../support/stores.js';

const SITE = { origin: 'https://admin.example.com', rpId: 'admin.example.com' };
const ANA = { id: 'mem_1', email: 'Ana@example.com', name: 'Ana López' };
const BEN = { id: 'mem_2', email: 'ben@example.com', name: 'Ben' };
const BY_ANA = { ...OPERATOR, actor: ANA.id };

describeOnDatabases('passkeys', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let passkeys: Passkeys;
  let warnings: unknown[];
  let offered: OfferedMethods;

  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock();
    warnings = [];
    offered = { passwords: true, passkeys: true, issuers: [] };
    passkeys = new Passkeys({
      database,
      clock,
      steps: new SignInSteps(database.db, clock),
      party: () => ({ id: SITE.rpId, origin: SITE.origin, name: 'Rafting' }),
      log: { warn: (fields: unknown) => void warnings.push(fields) } as never,
      signInMethods: new SignInMethods(database, () => offered),
      notices: new SignInNotices(clock, () => true),
    });
    await writeMember(database);
    await writeMember(database, { ...BEN, email_key: BEN.email });
  });
  afterEach(async () => await database.close());

  /** Registers a device for a member. `turned` overrides claims of its response. */
  async function register(device: Authenticator, owner = ANA, turned: Partial<Claims> = {}, name = 'Laptop') {
    const { options, step } = await passkeys.beginRegistration(owner);
    const response = device.register({ challenge: options.challenge, ...SITE, ...turned });
    return await passkeys.register(owner.id, await sessionOf(owner.id), step.token, response, name, BY_ANA);
  }

  async function sessionOf(memberId: string): Promise<string> {
    const limits = { idleMs: 1_000, absoluteMs: 1_000 };
    const sessions = new Sessions(database, clock, () => limits, new BestEffortWrites(clock, { warn: () => {} }));
    return (await sessions.createSession({ memberId }, 'password', { ip: '127.0.0.1', userAgent: 'test' })).session.id;
  }

  async function signIn(device: Authenticator, turned: Partial<Claims> = {}) {
    const { options, step } = await passkeys.beginSignIn();
    const response = device.authenticate({ challenge: options.challenge, ...SITE, userHandle: ANA.id, ...turned });
    return await passkeys.authenticate(step.token, 'sign_in', response);
  }

  it('sign in their member without a username', async () => {
    const device = new Authenticator();
    const made = await register(device);
    expect(made).toMatchObject({ name: 'Laptop', lastUsedAt: null, isBackedUp: false });
    expect(await signIn(device)).toEqual({ memberId: ANA.id, passkeyId: made.id });
    const [{ lastUsedAt } = { lastUsedAt: null }] = await passkeys.list(ANA.id);
    expect(lastUsedAt).toBe(clock.now());
  });

  it('require user verification and a resident key, and offer three signature algorithms', async () => {
    await register(new Authenticator());
    const { options } = await passkeys.beginRegistration(ANA);
    expect(options).toMatchObject({
      rp: { id: SITE.rpId, name: 'Rafting' },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    expect(options.pubKeyCredParams.map(({ alg }) => alg)).toEqual([-7, -8, -257]);
    expect(options.excludeCredentials).toHaveLength(1);
    const { options: asked } = await passkeys.beginSignIn();
    expect(asked).toMatchObject({ rpId: SITE.rpId, userVerification: 'required' });
    expect(asked.allowCredentials ?? []).toEqual([]);
  });

  it('without a counter can sign in from two browsers at the same time', async () => {
    const device = new Authenticator();
    await register(device);
    const shown = await Promise.all([signIn(device), signIn(device)]);
    expect(shown).toMatchObject([{ memberId: ANA.id }, { memberId: ANA.id }]);
  });

  describe('are rejected', () => {
    const untrue: [string, Partial<Claims>][] = [
      ['a page of another origin', { origin: 'https://admin.example.com.evil.example' }],
      ['plain HTTP', { origin: 'http://admin.example.com' }],
      ['another host', { rpId: 'evil.example' }],
      ['a challenge of somebody else', { challenge: Buffer.alloc(32).toString('base64url') }],
      ['a device that asked for no finger', { isVerified: false }],
      ['the other ceremony', { type: 'webauthn.elsewhere' }],
    ];

    it.each(untrue)('at registration from %s', async (_what, turned) => {
      await expect(register(new Authenticator(), ANA, turned)).rejects.toMatchObject({ code: 'validation_failed' });
      expect(await passkeys.list(ANA.id)).toEqual([]);
      expect(warnings).toMatchObject([{ event: 'passkey_refused' }]);
    });

    it.each([...untrue, ['the hand of another member', { userHandle: BEN.id }] as const])(
      'at sign-in from %s',
      async (_what, turned) => {
        const device = new Authenticator();
        await register(device);
        await expect(signIn(device, turned)).rejects.toMatchObject({ code: 'invalid_credentials', status: 401 });
        expect(await signIn(device)).toMatchObject({ memberId: ANA.id });
      },
    );

    it('when another key signs for a credential, and when the credential is unknown', async () => {
      const [device, thief] = [new Authenticator(), new Authenticator()];
      await register(device);
      await expect(signIn(thief)).rejects.toMatchObject({ code: 'invalid_credentials' });
      const { options, step } = await passkeys.beginSignIn();
      const forged = thief.authenticate({ challenge: options.challenge, ...SITE });
      const response = { ...forged, id: device.credentialId, rawId: device.credentialId };
      await expect(passkeys.authenticate(step.token, 'sign_in', response)).rejects.toMatchObject({
        code: 'invalid_credentials',
      });
    });

    it('when their counter does not increase', async () => {
      const device = new Authenticator();
      await register(device);
      expect(await signIn(device, { counter: 7 })).toMatchObject({ memberId: ANA.id });
      await expect(signIn(device, { counter: 7 })).rejects.toMatchObject({ code: 'invalid_credentials' });
      await expect(signIn(device, { counter: 6 })).rejects.toMatchObject({ code: 'invalid_credentials' });
      expect(warnings).toMatchObject([{ event: 'passkey_refused', reason: expect.stringContaining('counter') }, {}]);
      expect(await signIn(device, { counter: 8 })).toMatchObject({ memberId: ANA.id });
    });

    it('when three sign-ins use the same counter at once, except for one of them', async () => {
      const device = new Authenticator();
      await register(device);
      await signIn(device, { counter: 7 });
      const shown = await Promise.allSettled([8, 8, 8].map((counter) => signIn(device, { counter })));
      expect(shown.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
      await expect(signIn(device, { counter: 8 })).rejects.toMatchObject({ code: 'invalid_credentials' });
      expect(await signIn(device, { counter: 9 })).toMatchObject({ memberId: ANA.id });
    });

    it('when the same response is sent twice', async () => {
      const device = new Authenticator();
      await register(device);
      const { options, step } = await passkeys.beginSignIn();
      const response = device.authenticate({ challenge: options.challenge, ...SITE });
      await passkeys.authenticate(step.token, 'sign_in', response);
      await expect(passkeys.authenticate(step.token, 'sign_in', response)).rejects.toMatchObject({
        code: 'sign_in_ended',
      });
    });

    it('when the challenge was for another purpose or another member', async () => {
      const device = new Authenticator();
      await register(device);
      const { options, step } = await passkeys.beginRegistration(BEN);
      const made = new Authenticator().register({ challenge: options.challenge, ...SITE });
      const ended = { code: 'sign_in_ended' };
      const session = await sessionOf(ANA.id);
      await expect(passkeys.register(ANA.id, session, step.token, made, 'x', BY_ANA)).rejects.toMatchObject(ended);
      const toSignIn = await passkeys.beginSignIn();
      const shown = device.authenticate({ challenge: toSignIn.options.challenge, ...SITE });
      await expect(passkeys.authenticate(toSignIn.step.token, 'confirm', shown)).rejects.toMatchObject(ended);
    });

    it('for the confirmation of another member', async () => {
      const [anas, bens] = [new Authenticator(), new Authenticator()];
      await register(anas);
      await register(bens, BEN);
      const { options, step } = await passkeys.beginConfirmation(ANA.id);
      expect(options.allowCredentials?.map(({ id }) => id)).toEqual([anas.credentialId]);
      const response = bens.authenticate({ challenge: options.challenge, ...SITE });
      await expect(passkeys.authenticate(step.token, 'confirm', response)).rejects.toMatchObject({
        code: 'invalid_credentials',
      });
    });
  });

  const setPassword = async (id: string) =>
    await database.db.updateTable('member').set({ password: 'a hash' }).where('id', '=', id).execute();

  it('cannot be registered for a second member', async () => {
    const device = new Authenticator();
    await register(device);
    await expect(register(device, BEN)).rejects.toMatchObject({ code: 'validation_failed' });
    expect(await passkeys.list(BEN.id)).toEqual([]);
  });

  it('are renamed and removed only by their owner, and do not sign in after removal', async () => {
    const device = new Authenticator();
    const { id } = await register(device);
    const absent = { code: 'resource_not_found' };
    await expect(passkeys.rename(BEN.id, id, 'Mine', BY_ANA)).rejects.toMatchObject(absent);
    await expect(passkeys.remove(BEN.id, id, BY_ANA)).rejects.toMatchObject(absent);
    expect(await passkeys.rename(ANA.id, id, 'Phone', BY_ANA)).toMatchObject({ id, name: 'Phone' });
    await setPassword(ANA.id);
    await passkeys.remove(ANA.id, id, BY_ANA);
    await expect(signIn(device)).rejects.toMatchObject({ code: 'invalid_credentials' });
    const actions = await database.db.selectFrom('audit_entry').select('action').orderBy('id').execute();
    expect(actions.map(({ action }) => action)).toEqual([
      'member.passkey_added',
      'member.passkey_renamed',
      'member.passkey_removed',
    ]);
    // The member is also notified by mail, which the thief of a session cannot read.
    const mails = await database.db.selectFrom('mail').select(['to_address', 'content']).orderBy('id').execute();
    expect(mails.map((mail) => ({ ...mail, content: JSON.parse(mail.content) as unknown }))).toMatchObject([
      { to_address: 'Ana@example.com', content: { change: 'passkey_added', by: 'member', name: 'Laptop' } },
      { to_address: 'Ana@example.com', content: { change: 'passkey_removed', by: 'member', name: 'Phone' } },
    ]);
  });

  it('cannot be removed if no other sign-in method is left, even when two are removed at once', async () => {
    const last = { code: 'last_way_to_sign_in', status: 409 };
    const [first, second] = [new Authenticator(), new Authenticator()];
    const ids = [await register(first), await register(second)].map(({ id }) => id);
    const both = await Promise.allSettled(ids.map((id) => passkeys.remove(ANA.id, id, BY_ANA)));
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: last });
    const [left] = await passkeys.list(ANA.id);
    await setPassword(ANA.id);
    offered = { passwords: false, passkeys: true, issuers: [] };
    await expect(passkeys.remove(ANA.id, left!.id, BY_ANA)).rejects.toMatchObject(last);
    offered = { passwords: true, passkeys: true, issuers: [] };
    await passkeys.remove(ANA.id, left!.id, BY_ANA);
  });

  it('are limited to twenty for each member', async () => {
    for (let device = 0; device < 20; device++) await register(new Authenticator());
    await expect(passkeys.beginRegistration(ANA)).rejects.toMatchObject({ code: 'conflict' });
  });
});
