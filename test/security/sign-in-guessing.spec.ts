/** Password guessing: errors reveal nothing, and attempts are limited even from many addresses. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { GOOD_PASSWORD, memberWithPassword, PanelBrowser } from '../support/signed-in.js';

describeOnDatabases('password sign-in', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let email: string;
  let memberId: string;

  beforeEach(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    ({ email, id: memberId } = await memberWithPassword(database, running, { email: 'Ana@Example.com' }));
  });
  afterEach(async () => {
    await running.close();
    await database.close();
  });

  const trying = (name: string, password: string, browser = new PanelBrowser(running.url)) =>
    browser.ask('POST', '/sign-in/password', { email: name, password });
  const from = (address: string) => ({
    ip: address,
    userAgent: 'test',
    requestId: 'req_test',
    session: undefined,
    known: undefined,
  });
  const codeOf = (error: unknown) => (error as { code?: string }).code;

  it('returns the same error for a wrong password, an unknown email and a member without a password', async () => {
    const { id } = await memberWithPassword(database, running, { email: 'without@example.com' });
    await database.db.updateTable('member').set({ password: null }).where('id', '=', id).execute();
    const answers = [
      await trying(email, 'wrong'),
      await trying('nobody@example.com', 'wrong'),
      await trying('without@example.com', GOOD_PASSWORD),
      await trying("' or 1=1 --", 'wrong'),
      await trying(email, ` ${GOOD_PASSWORD}`),
    ];
    const withoutId = answers.map(({ text }) => text.replace(/"request_id":"\w+"/, ''));
    expect(new Set(withoutId).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
    expect(answers[0]?.json()).toMatchObject({ code: 'invalid_credentials' });
    expect(answers.flatMap(({ headers }) => headers['set-cookie'] ?? [])).toEqual([]);
  });

  it('accepts the email address in any case', async () => {
    expect((await trying('  ANA@example.COM ', GOOD_PASSWORD)).status).toBe(200);
  });

  it('returns 429 from the 11th wrong password for one email on, from any address', async () => {
    const codes: (string | undefined)[] = [];
    for (let guess = 0; guess < 14; guess++) {
      const result = running.members.signIn.withPassword(email, 'wrong', from(`192.0.${guess}.1`));
      codes.push(codeOf(await result.catch((error: unknown) => error)));
    }
    expect(codes).toEqual([
      ...Array<string>(10).fill('invalid_credentials'),
      ...Array<string>(4).fill('too_many_failed_attempts'),
    ]);
    // The right password gets 429, too, or guessing could continue.
    const right = running.members.signIn.withPassword(email, GOOD_PASSWORD, from('198.51.100.1'));
    expect(codeOf(await right.catch((error: unknown) => error))).toBe('too_many_failed_attempts');
  });

  it('does not lock out a member in a browser in which they have signed in before', async () => {
    const own = new PanelBrowser(running.url);
    expect((await trying(email, GOOD_PASSWORD, own)).status).toBe(200);
    await own.ask('POST', '/sign-out');
    for (let guess = 0; guess < 12; guess++) {
      await running.members.signIn.withPassword(email, 'wrong', from(`192.0.${guess}.1`)).catch(() => undefined);
    }
    expect((await trying(email, GOOD_PASSWORD)).status).toBe(429);
    expect((await trying(email, GOOD_PASSWORD, own)).status).toBe(200);
  });

  it('throttles unknown email addresses alike, so that 429 reveals nothing', async () => {
    const codes = [];
    for (let guess = 0; guess < 11; guess++) {
      const result = running.members.signIn.withPassword('nobody@example.com', 'wrong', from(`192.0.${guess}.1`));
      codes.push(codeOf(await result.catch((error: unknown) => error)));
    }
    expect(codes.at(-1)).toBe('too_many_failed_attempts');
  });

  it('returns 429 with Retry-After to a network that tries many emails, despite X-Forwarded-For', async () => {
    const answers = [];
    for (let guess = 0; guess < 21; guess++) {
      const browser = new PanelBrowser(running.url, { 'X-Forwarded-For': `203.0.113.${guess}` });
      answers.push(await trying(`member-${guess}@example.org`, 'wrong', browser));
    }
    expect(answers.map(({ status }) => status)).toEqual([...Array<number>(20).fill(401), 429]);
    expect(answers.at(-1)?.json()).toMatchObject({ code: 'too_many_failed_attempts' });
    expect(Number(answers.at(-1)?.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('counts an IPv6 network by its /64', async () => {
    const codes = [];
    for (let guess = 0; guess < 21; guess++) {
      const result = running.members.signIn.withPassword(`m${guess}@example.org`, 'x', from(`2001:db8:0:1::${guess}`));
      codes.push(codeOf(await result.catch((error: unknown) => error)));
    }
    expect(codes.at(-1)).toBe('too_many_failed_attempts');
    const other = running.members.signIn.withPassword('m@example.org', 'x', from('2001:db8:0:2::1'));
    expect(codeOf(await other.catch((error: unknown) => error))).toBe('invalid_credentials');
  });

  it('is audited for members, without unknown emails or passwords in the log', async () => {
    await trying(email, 'a wrong guess');
    await trying('nobody@example.com', 'a wrong guess');
    await trying(email, GOOD_PASSWORD);
    const log = running.log.join('');
    expect(log).toContain('sign_in_refused');
    expect(log).not.toMatch(/nobody@example|a wrong guess|seven small otters/);
    const { data } = await running.admin.auditLog('?limit=100');
    const actions = data.map(({ action, target }) => [action, (target as { id: string }).id]);
    expect(actions).toEqual(
      expect.arrayContaining([
        ['sign_in.succeeded', memberId],
        ['sign_in.refused', memberId],
      ]),
    );
  });

  it('replaces a hash of another cost at the next sign-in', async () => {
    const cheap =
      '$argon2id$v=19$m=256,t=1,p=1$' +
      (await (async () => {
        const { argon2Sync } = await import('node:crypto');
        const nonce = Buffer.alloc(16, 7);
        const parameters = {
          message: Buffer.from(GOOD_PASSWORD),
          nonce,
          parallelism: 1,
          tagLength: 32,
          memory: 256,
          passes: 1,
        };
        const tag = argon2Sync('argon2id', parameters);
        const plain = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
        return `${plain(nonce)}$${plain(tag)}`;
      })());
    await database.db.updateTable('member').set({ password: cheap }).where('id', '=', memberId).execute();
    expect((await trying(email, GOOD_PASSWORD)).status).toBe(200);
    const row = await database.db
      .selectFrom('member')
      .select('password')
      .where('id', '=', memberId)
      .executeTakeFirstOrThrow();
    expect(row.password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect((await trying(email, GOOD_PASSWORD)).status).toBe(200);
  });
});
