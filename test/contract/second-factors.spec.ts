/**
 * A second factor is stored encrypted, its codes work once, and it is gone when removed. Runs on SQLite and PostgreSQL.
 */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { SecondFactors } from '../../src/members/sign-in/second-factors.js';
import { SignInNotices } from '../../src/members/sign-in/sign-in-notices.js';
import { SecretBox } from '../../src/stores/secrets/secret-box.js';
import { codeAt, fromBase32 } from '../support/authenticator-app.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { writeMember } from '../support/members.js';
import { OPERATOR, TestClock } from '../support/stores.js';

const BY_ANA = { ...OPERATOR, actor: 'mem_1' };

describeOnDatabases('a second factor', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let factors: SecondFactors;
  let notices: SignInNotices;
  const key = randomBytes(32);

  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock();
    notices = new SignInNotices(clock, () => true);
    factors = new SecondFactors(database, clock, new SecretBox(key), () => 'Rafting', notices);
    await writeMember(database);
    await writeMember(database, { id: 'mem_2', email: 'ben@example.com', email_key: 'ben@example.com', name: 'Ben' });
  });
  afterEach(async () => await database.close());

  const codeNow = (secret: Buffer, off = 0) => codeAt(secret, clock.now(), off);

  /** Sets up an authenticator app for a member, and advances the clock by a minute. */
  async function withApp(memberId = 'mem_1'): Promise<{ secret: Buffer; codes: readonly string[] }> {
    const secret = fromBase32((await factors.beginSetup(memberId)).secret);
    const codes = await factors.completeSetup(memberId, codeNow(secret), BY_ANA);
    clock.advance(60_000);
    return { secret, codes };
  }

  it('is required once its first code was right, and comes with ten recovery codes', async () => {
    const { secret, uri } = await factors.beginSetup('mem_1');
    expect(uri).toBe(`otpauth://totp/Rafting:Ana%40example.com?secret=${secret}&issuer=Rafting`);
    expect(await factors.isNeeded('mem_1')).toBe(false);
    const code = codeNow(fromBase32(secret));
    const wrong = code === '000000' ? '000001' : '000000';
    await expect(factors.completeSetup('mem_1', wrong, BY_ANA)).rejects.toMatchObject({ code: 'validation_failed' });
    expect(await factors.isNeeded('mem_1')).toBe(false);
    expect(await factors.completeSetup('mem_1', code, BY_ANA)).toHaveLength(10);
    expect(await factors.isNeeded('mem_1')).toBe(true);
    expect(await factors.codesLeft('mem_1')).toBe(10);
    const log = await database.db.selectFrom('audit_entry').selectAll().execute();
    expect(log.map(({ action, target_id, actor }) => [action, target_id, actor])).toEqual([
      ['member.totp_added', 'mem_1', 'mem_1'],
    ]);
  });

  it('accepts a code once, even when two nodes get it at the same time', async () => {
    const { secret } = await withApp();
    const other = new SecondFactors(database, clock, new SecretBox(key), () => 'Rafting', notices);
    const shown = { code: codeNow(secret) };
    const taken = await Promise.all(
      Array.from({ length: 10 }, (_, at) => (at % 2 ? factors : other).verifyFactor('mem_1', shown)),
    );
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(await factors.verifyFactor('mem_1', { code: codeNow(secret, -1) })).toBe(false);
    expect(await factors.verifyFactor('mem_1', { code: codeNow(secret, 1) })).toBe(true);
  });

  it('does not accept its setup code again', async () => {
    const secret = fromBase32((await factors.beginSetup('mem_1')).secret);
    const code = codeNow(secret);
    await factors.completeSetup('mem_1', code, BY_ANA);
    expect(await factors.verifyFactor('mem_1', { code })).toBe(false);
  });

  it('accepts a recovery code once and only for its member, even when sent concurrently', async () => {
    const { codes } = await withApp();
    await withApp('mem_2');
    const [recoveryCode = '', next = ''] = codes;
    expect(await factors.verifyFactor('mem_2', { recoveryCode })).toBe(false);
    const taken = await Promise.all(Array.from({ length: 8 }, () => factors.verifyFactor('mem_1', { recoveryCode })));
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(await factors.verifyFactor('mem_1', { recoveryCode: next.toUpperCase().replaceAll('-', ' ') })).toBe(true);
    expect(await factors.codesLeft('mem_1')).toBe(8);
    expect(await factors.codesLeft('mem_2')).toBe(10);
  });

  it('is stored neither as plain secret nor codes, and cannot be moved to another member', async () => {
    const { secret, codes } = await withApp();
    await withApp('mem_2');
    const members = await database.db.selectFrom('member').selectAll().execute();
    const text = JSON.stringify([members, await database.db.selectFrom('recovery_code').selectAll().execute()]);
    for (const form of [secret.toString('hex'), secret.toString('base64url'), ...codes])
      expect(text).not.toContain(form);
    const moved = { totp_secret: members.find(({ id }) => id === 'mem_1')?.totp_secret ?? '' };
    await database.db.updateTable('member').set(moved).where('id', '=', 'mem_2').execute();
    await expect(factors.verifyFactor('mem_2', { code: codeNow(secret) })).rejects.toThrow('belongs to another row');
  });

  it('invalidates old recovery codes when new ones are created', async () => {
    const { codes } = await withApp();
    const fresh = await factors.replaceCodes('mem_1', BY_ANA);
    expect(await factors.verifyFactor('mem_1', { recoveryCode: codes[0] ?? '' })).toBe(false);
    expect(await factors.verifyFactor('mem_1', { recoveryCode: fresh[0] ?? '' })).toBe(true);
    await expect(factors.replaceCodes('mem_2', BY_ANA)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('is removed with its recovery codes, and only then can another be set up', async () => {
    const { secret, codes } = await withApp();
    await expect(factors.beginSetup('mem_1')).rejects.toMatchObject({ code: 'conflict' });
    await expect(factors.completeSetup('mem_1', codeNow(secret), BY_ANA)).rejects.toMatchObject({ code: 'conflict' });
    await factors.removeApp('mem_1', BY_ANA);
    await factors.removeApp('mem_1', BY_ANA);
    expect(await factors.isNeeded('mem_1')).toBe(false);
    expect(await factors.verifyFactor('mem_1', { code: codeNow(secret) })).toBe(false);
    expect(await factors.verifyFactor('mem_1', { recoveryCode: codes[0] ?? '' })).toBe(false);
    const actions = await database.db.selectFrom('audit_entry').select('action').orderBy('id').execute();
    expect(actions.map(({ action }) => action)).toEqual(['member.totp_added', 'member.totp_removed']);
    await withApp();
  });

  it('notifies its member by mail when it is added, replaced or removed, if mail is configured', async () => {
    const mailed = async () => {
      const mails = await database.db.selectFrom('mail').selectAll().orderBy('id').execute();
      return mails.map(({ link_id, to_address, content }) => {
        const { change, by } = JSON.parse(content) as { change: string; by: string };
        return [link_id, to_address, change, by];
      });
    };
    await withApp();
    await factors.replaceCodes('mem_1', BY_ANA);
    await factors.removeApp('mem_1', OPERATOR);
    await factors.removeApp('mem_1', OPERATOR);
    const toAna = [null, 'Ana@example.com'];
    const expected = [
      [...toAna, 'totp_added', 'member'],
      [...toAna, 'recovery_codes_replaced', 'member'],
      [...toAna, 'totp_removed', 'operator'],
    ];
    expect(await mailed()).toEqual(expected);
    notices = new SignInNotices(clock, () => false);
    factors = new SecondFactors(database, clock, new SecretBox(key), () => 'Rafting', notices);
    await withApp();
    expect(await mailed()).toEqual(expected);
  });

  it('is not offered without an encryption key, but existing recovery codes still work', async () => {
    const { secret, codes } = await withApp();
    const without = new SecondFactors(database, clock, null, () => 'Rafting', notices);
    expect([without.isOffered, factors.isOffered]).toEqual([false, true]);
    await expect(without.beginSetup('mem_2')).rejects.toMatchObject({ code: 'conflict' });
    expect(await without.isNeeded('mem_1')).toBe(true);
    await expect(without.verifyFactor('mem_1', { code: codeNow(secret) })).rejects.toMatchObject({ code: 'conflict' });
    expect(await without.verifyFactor('mem_1', { recoveryCode: codes[0] ?? '' })).toBe(true);
  });
});
