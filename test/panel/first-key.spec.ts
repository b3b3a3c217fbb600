/**
 * The first minutes of a new user in a real browser. They sign in by the printed link, create a key, call the API with
 * it, see the call, rotate the key and revoke it.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { startBrowser, type Browser } from '../support/browser.js';
import { startDemo, type RunningDemo } from '../support/demo.js';
import { describeWithChromium, describeWithCurl } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { eventually, temporaryFolder } from '../support/processes.js';

const SECRET = /tg_live_[0-9A-Za-z]{36}/;

describeWithChromium('the first key', () => {
  let demo: RunningDemo;
  let browser: Browser;
  let page: Page;
  const secrets: string[] = [];
  /** Command that the page shows with the secret. */
  let curlLine = '';

  beforeAll(async () => {
    // With all animations, as users without reduced motion see it.
    [demo, browser] = await Promise.all([startDemo(), startBrowser({ reducedMotion: 'no-preference' })]);
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await demo?.stop();
  });

  const call = (secret: string) =>
    send(`${demo.gatewayUrl}/api/v1/customers?limit=1`, { headers: { authorization: `Bearer ${secret}` } });
  /** Returns the status for a program that reads the key only from this line of its `.env` file. */
  const callWithEnvFile = async (line: string): Promise<string> => {
    const folder = temporaryFolder('env-file');
    writeFileSync(join(folder, '.env'), `${line}\n`);
    const program = `fetch('${demo.gatewayUrl}/api/v1/customers?limit=1', { headers: { authorization: 'Bearer ' + process.env.API_KEY } })
      .then(({ status }) => console.log(status))`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--env-file=.env', '-e', program], {
      cwd: folder,
      env: {},
    });
    return stdout.trim();
  };
  const shownSecret = async (): Promise<string> => {
    await page.getByText('Copy your secret now').waitFor();
    const secret = SECRET.exec((await page.textContent('[role=dialog]')) ?? '')?.[0] ?? '';
    secrets.push(secret);
    return secret;
  };
  const store = async (): Promise<void> => {
    await page.getByLabel("I've saved this secret").check();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  };

  it('is reached by the link that the program prints, which works once', async () => {
    expect(demo.link).toMatch(/^http:\/\/localhost:\d+\/link#\S{20,}$/);
    await page.goto(demo.link);
    const taken: string[] = [];
    page.on('request', (each) => each.url().endsWith('/links/take') && taken.push(each.method()));
    await page.getByRole('button', { name: 'Continue to dashboard' }).dblclick();
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    expect(page.url()).not.toContain(new URL(demo.link).hash);
    expect(taken).toEqual(['POST']);
    const banner = page.getByRole('alert').filter({ hasText: 'to sign in again' });
    await banner.getByRole('link', { name: 'Open your profile' }).click();
    await page.getByRole('heading', { name: 'Your profile' }).waitFor();
    await banner.waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    const other = await startBrowser();
    const stranger = await other.newPage();
    await stranger.goto(demo.link);
    await stranger.getByText('This link has expired or was already used').waitFor();
    expect(await stranger.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await stranger.getByRole('link', { name: 'Go to sign-in' }).click();
    await stranger.getByText('If you run this program, restart it.').waitFor();
    await other.close();
  });

  it('is created with two scopes, and the secret and the copied .env line call the API', async () => {
    await page.getByRole('link', { name: 'Create API key' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('Booking widget');
    for (const scope of ['customers:read', 'customers:write']) await page.locator(`input[value="${scope}"]`).check();
    await page.getByRole('button', { name: 'Create key' }).click();
    const secret = await shownSecret();
    // The page requests the URL of the API once there is a secret.
    const curl = page.getByRole('dialog').getByText(`curl -H "Authorization: Bearer ${secret}"`);
    await curl.waitFor();
    await page.getByRole('button', { name: 'Copy: Test with curl' }).click();
    await page.getByRole('button', { name: 'Copy: Test with curl' }).getByText('Copied').waitFor();
    curlLine = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(curlLine).toBe(await curl.textContent());
    expect((await call(secret)).status).toBe(200);
    await page.getByRole('button', { name: 'Copy: .env file' }).click();
    await page.getByRole('button', { name: 'Copy: .env file' }).getByText('Copied').waitFor();
    expect(await callWithEnvFile(await page.evaluate<string>('navigator.clipboard.readText()'))).toBe('200');
    await store();
    await page.getByRole('link', { name: 'Booking widget' }).waitFor();
  });

  it('shows its calls in Logs and Usage within seconds', async () => {
    await page.getByRole('link', { name: 'Logs' }).click();
    const row = page.getByRole('row').filter({ hasText: 'Booking widget' });
    await row.getByRole('link', { name: 'GET' }).first().waitFor();
    expect(await row.first().textContent()).toContain('200');
    await page.getByRole('link', { name: 'Usage' }).click();
    const used = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'Booking widget' }) });
    // Once by this test, once by the program with the `.env` file.
    await used.getByRole('cell').nth(1).getByText('2', { exact: true }).waitFor();
  });

  // After Usage, which counts the calls so far.
  describeWithCurl('in a shell', () => {
    it('calls the API with the curl line that the page shows', async () => {
      const line = `${curlLine} --silent --show-error --write-out '\n%{http_code}'`;
      const { stdout } = await promisify(execFile)('sh', ['-c', line], { env: { PATH: process.env['PATH'] ?? '' } });
      const [body = '', status] = stdout.split(/\n(?=\d+$)/);
      expect(status).toBe('200');
      expect(JSON.parse(body)).toMatchObject({ data: expect.any(Array) });
    });
  });

  it('is rotated, and the old secret keeps working', async () => {
    await page.getByRole('link', { name: 'API keys' }).first().click();
    await page.getByRole('link', { name: 'Booking widget' }).click();
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await page.getByRole('button', { name: 'Create new secret' }).click();
    await shownSecret();
    await store();
    const [before = '', after = ''] = secrets;
    expect(after).not.toBe(before);
    expect([(await call(before)).status, (await call(after)).status]).toEqual([200, 200]);
  });

  it('is revoked, and refused within a second', async () => {
    await page.getByRole('button', { name: 'Revoke' }).click();
    const confirm = page.getByRole('button', { name: 'Revoke key' });
    await confirm.waitFor();
    const [before = '', after = ''] = secrets;
    expect((await call(after)).status).toBe(200);
    const begun = performance.now();
    await confirm.click();
    await eventually('both secrets are refused', async () => {
      const responses = await Promise.all([call(before), call(after)]);
      return responses.every(({ status }) => status === 401);
    });
    expect(quietMsSince(begun)).toBeLessThan(1_000);
    await page.getByText('This key was revoked').waitFor();
  });

  it('leaves no secret behind, and causes no browser errors or policy violations', async () => {
    const kept = await page.evaluate<string>(
      `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href,
        performance.getEntries().map(({ name }) => name), document.documentElement.outerHTML])`,
    );
    for (const secret of secrets) {
      expect(kept).not.toContain(secret);
      expect(demo.output()).not.toContain(secret);
    }
    expect(secrets).toHaveLength(2);
    expect(browser.faults).toEqual([]);
  });
});
