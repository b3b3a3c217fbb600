/** Invitations, password resets and notices by mail, from the request to the working link. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { codeAt, fromBase32 } from '../support/authenticator-app.js';
import { send, type Answer } from '../support/http.js';
import { eventually, freePort } from '../support/processes.js';
import { PanelBrowser } from '../support/signed-in.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { decodedHeader, headerOf, startSmtp, textOf, type SmtpServer } from '../support/smtp.js';

const PASSWORD = 'correct horse battery staple';

describe('with a mail server', () => {
  let smtp: SmtpServer;
  let trailgate: RunningTrailgate;

  beforeAll(async () => {
    smtp = await startSmtp();
    const mail = { url: `smtp://127.0.0.1:${smtp.port}`, from: 'no-reply@example.com' };
    trailgate = await startTrailgate({ config: { admin: { port: await freePort(), mail } } });
  });
  afterAll(async () => {
    await trailgate?.stop();
    await smtp?.stop();
  });

  const post = (path: string, body: object): Promise<Answer> =>
    send(`${trailgate.adminUrl}/admin/v1${path}`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
      body,
    });

  /** Waits until `count` mails have arrived at an address. Returns the token in the newest one. */
  async function tokenOf(address: string, count = 1): Promise<string> {
    const mails = () => smtp.mails.filter(({ to }) => to.includes(address));
    await eventually('the mail arrives', () => mails().length === count);
    const last = mails().at(-1);
    return /\/link#([\w-]{43})/.exec(last === undefined ? '' : textOf(last))?.[1] ?? '';
  }

  it('the link of an invitation mail signs up its recipient once, and is in no response or log', async () => {
    const { id } = await trailgate.admin.createAccount({ plan: 'starter', name: 'Isar Rafting' });
    const path = `/accounts/${id}/invitations`;
    const made = await trailgate.admin.call('POST', path, { email: 'ana@example.com', role: 'viewer' });
    expect(made).toMatchObject({ link: null, mail: 'waiting', status: 'open' });
    const token = await tokenOf('ana@example.com');
    const states = async () =>
      (await trailgate.admin.call<{ data: { mail: string }[] }>('GET', path)).data.map(({ mail }) => mail);
    await eventually('the mail is marked as sent', async () => (await states())[0] === 'sent');
    expect(JSON.stringify(made) + trailgate.stdout.join()).not.toContain(token);
    const taken = await post('/links/take', { token, name: 'Ana', password: PASSWORD });
    expect([taken.status, taken.json()['state']]).toEqual([200, 'signed_in']);
    expect((await post('/links/take', { token, name: 'Ana', password: PASSWORD })).status).toBe(410);
  });

  it('a password reset gets the same response for an unknown address, but only a member gets mail', async () => {
    const unknown = await post('/password-resets', { email: 'nobody@example.com' });
    const known = await post('/password-resets', { email: 'ana@example.com' });
    expect([unknown.status, unknown.text]).toEqual([202, known.text]);
    const token = await tokenOf('ana@example.com', 2);
    const mail = smtp.mails.at(-1);
    expect(mail && decodedHeader(headerOf(mail, 'Subject') ?? '')).toBe('Choose a new password');
    const taken = await post('/links/take', { token, password: `${PASSWORD} again` });
    expect([taken.status, taken.json()['state']]).toEqual([200, 'signed_in']);
    expect(smtp.mails.filter(({ to }) => to.includes('nobody@example.com'))).toEqual([]);
  });

  it('a member gets mail when a password changes, or an authenticator app is added or removed', async () => {
    const own = new PanelBrowser(trailgate.adminUrl);
    await own.call('POST', '/sign-in/password', { email: 'ana@example.com', password: `${PASSWORD} again` });
    const { secret } = await own.call<{ secret: string }>('POST', '/me/totp');
    await own.call('POST', '/me/totp/confirm', { code: codeAt(fromBase32(secret), Date.now()) });
    const { member } = await own.call<{ member: { id: string } }>('GET', '/me');
    await trailgate.admin.call('DELETE', `/members/${member.id}/second-factor`);
    const noticeMails = () => smtp.mails.filter(({ to }) => to.includes('ana@example.com')).slice(2);
    await eventually('all notices arrive', () => noticeMails().length === 3);
    expect(new Set(noticeMails().map((mail) => decodedHeader(headerOf(mail, 'Subject') ?? '')))).toEqual(
      new Set(['Your password was changed', 'An authenticator app was added', 'Your authenticator app was removed']),
    );
    const byOperator = noticeMails()
      .map(textOf)
      .filter((text) => text.includes('by an operator'));
    expect(byOperator).toHaveLength(1);
    expect(byOperator[0]).toMatch(/^http:\/\/localhost:\d+\/profile\r?$/m);
  });

  it('a link in a mail leads to the configured host, whatever host a request names', async () => {
    const { port, host } = new URL(trailgate.adminUrl);
    const refused = [{ Host: 'evil.example' }, { Host: `${host}.evil.example` }, { Host: `${host}@evil.example` }];
    const believed = [
      { Host: 'localhost:81' },
      { Host: `localhost:${port}`, 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' },
      { Host: `localhost:${port}`, Forwarded: 'host=evil.example;proto=https', 'X-Host': 'evil.example' },
      { Host: `127.0.0.1:${port}`, Referer: 'https://evil.example/forgot' },
    ];
    const { id } = await trailgate.admin.createAccount({ plan: 'starter', name: 'Isar Rafting' });
    // Runs both cases in parallel, because mail is sent only every two seconds.
    const reset = async (spoofed: Record<string, string>, index: number): Promise<void> => {
      const email = `eva-${index}@example.com`;
      await trailgate.admin.call('POST', `/accounts/${id}/invitations`, { email, role: 'viewer' });
      await post('/links/take', { token: await tokenOf(email), name: 'Eva', password: PASSWORD });
      const url = `${trailgate.adminUrl}/admin/v1/password-resets`;
      const headers = { 'Sec-Fetch-Site': 'same-origin', ...spoofed };
      const { status } = await send(url, { method: 'POST', headers, body: { email } });
      const isRefused = index < refused.length;
      expect([spoofed, isRefused ? [400, 421].includes(status) : status === 202]).toEqual([spoofed, true]);
      if (isRefused) return;
      await tokenOf(email, 2);
      const mail = smtp.mails.findLast(({ to }) => to.includes(email));
      const text = mail === undefined ? '' : textOf(mail);
      expect(text).toMatch(new RegExp(`^http://localhost:${port}/link#[\\w-]{43}\r?$`, 'm'));
      expect(text).not.toMatch(/evil|localhost:81\b/);
    };
    await Promise.all([...refused, ...believed].map(reset));
    expect(smtp.mails.filter(({ to }) => to.some((each) => each.startsWith('eva-')))).toHaveLength(
      refused.length + 2 * believed.length,
    );
  });
});
