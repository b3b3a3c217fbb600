/** The webhooks page in a real browser, with the built program and a real receiver. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parseEnv } from 'node:util';
import type { Page } from 'playwright-core';
import { newSecretsKey } from '../../src/stores/secrets/secret-box.js';
import type { Account } from '../support/admin.js';
import {
  axeFindings,
  hasRead,
  passTimeUntil,
  scrollsSideways,
  startBrowser,
  type Browser,
} from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { newOperator, newPerson, panelUrlOf, signInThere } from '../support/panel-people.js';
import { pressByKeyboard, tabTo } from '../support/keyboard.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { PUBLIC_URL } from '../support/webhook-endpoints.js';
import { signatureOf, startReceiver, type Receiver } from '../support/webhook-receiver.js';

const BAD_BODY = '<script>document.title = "taken"</script><b>no database</b>';
const SECRET = /whsec_[A-Za-z0-9+/]{32,}=*/;
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1_280, height: 860 };

/** Returns the panel's translation of a text. */
function spanish(text: string): string {
  const catalog = readFileSync('src/panel/locales/es.po', 'utf8').split('\n');
  const translation = catalog[catalog.indexOf(`msgid "${text}"`) + 1];
  return /^msgstr "(.+)"$/.exec(translation ?? '')?.[1] ?? `no translation of ${text}`;
}

describeWithChromium('the webhooks page', () => {
  let trailgate: RunningTrailgate;
  let receiver: Receiver;
  let browser: Browser;
  let account: Account;
  let page: Page;
  let endpointUrl: string;
  let deliveryUrl: string;
  const secrets: string[] = [];

  beforeAll(async () => {
    [trailgate, receiver, browser] = await Promise.all([
      startTrailgate({
        config: { webhooks: { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] } },
        env: { TRAILGATE_SECRETS_KEY: newSecretsKey() },
      }),
      startReceiver(),
      startBrowser(),
    ]);
    account = await trailgate.admin.createAccount({ name: 'Isar Rafting', plan: 'pro' });
    await signInThere(browser.context, await newPerson(trailgate, account.id, 'owner'), panelUrlOf(trailgate));
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await trailgate?.stop();
    receiver?.stop();
  });

  const at = (path: string) => `${panelUrlOf(trailgate)}/${account.id}/${path}`;
  const dialog = () => page.getByRole('dialog');
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const pressInDialog = (name: string) => dialog().getByRole('button', { name, exact: true }).click();
  const delivery = (type: string) => page.getByRole('listitem').filter({ hasText: type });
  const closeDialog = async (): Promise<void> => {
    await dialog().getByRole('button', { name: 'Close', exact: true }).last().click();
    await dialog().waitFor({ state: 'hidden' });
  };
  const storeSecret = async (): Promise<void> => {
    await page.getByText('Copy your secret now').waitFor();
    secrets.push(SECRET.exec((await dialog().textContent()) ?? '')?.[0] ?? '');
    await page.getByLabel("I've saved this secret").check();
    await pressInDialog('Done');
    await dialog().waitFor({ state: 'hidden' });
  };

  it('explains why it refuses a private address, and adds a valid endpoint with chosen events', async () => {
    await page.goto(at('api-keys'));
    const developers = page.getByRole('group', { name: 'Settings' }).getByRole('group', { name: 'Developers' });
    await developers.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText('No endpoints yet').waitFor();
    await page.getByRole('link', { name: 'Add endpoint' }).first().click();
    const url = page.getByLabel('URL');
    await url.fill('http://169.254.169.254/latest/meta-data');
    await pressInDialog('Add endpoint');
    await page.getByText('This URL leads to a private network or to this server.').waitFor();
    await url.fill(`${receiver.url}/hooks`);
    await page.getByLabel('Description').fill('The shop');
    await page.getByLabel('Select events').check();
    await pressInDialog('Add endpoint');
    await page.getByText('Choose at least one event.').waitFor();
    await page.getByLabel('api_key.*').check();
    expect(await page.getByLabel('api_key.created').isDisabled()).toBe(true);
    await pressInDialog('Add endpoint');
    await storeSecret();
    await page.getByText('1 event type').waitFor();
    await page.getByRole('link', { name: `${receiver.url}/hooks` }).click();
    await page.getByRole('button', { name: 'Send test event' }).waitFor();
    endpointUrl = page.url();
  });

  it('sends a test event, shows the failed response as text, and sends it again after a repair', async () => {
    receiver.respond((response) => void response.writeHead(500, { 'content-type': 'text/html' }).end(BAD_BODY));
    await press('Send test event');
    await pressInDialog('Send');
    await dialog().getByText('Not delivered.').waitFor();
    await dialog().getByText(BAD_BODY, { exact: true }).waitFor();
    await closeDialog();
    await page.getByRole('link', { name: 'webhook.test' }).click();
    await page.getByText(BAD_BODY, { exact: true }).waitFor();
    await page.getByText('Failed', { exact: true }).waitFor();
    // A test event has no retry schedule.
    await page.getByText('A test is sent once.').waitFor();
    expect(await page.locator('main b, main script').count()).toBe(0);
    expect(await page.title()).toBe('webhook.test · Trailgate');
    deliveryUrl = page.url();

    receiver.respond((response) => void response.writeHead(204).end());
    await press('Send again');
    await page.getByText('Delivered', { exact: true }).waitFor();
    const [first, second] = receiver.received;
    expect(receiver.received).toHaveLength(2);
    expect(second?.id).toBe(first?.id);
    expect(second?.body).toBe(first?.body);
    expect(await page.getByRole('listitem').filter({ hasText: '500' }).count()).toBe(1);
    expect(await page.getByRole('listitem').filter({ hasText: '204' }).count()).toBe(1);
  });

  it('keeps the events of a paused endpoint, and sends them when it resumes', async () => {
    await page.goto(endpointUrl);
    await press('Pause');
    await pressInDialog('Pause');
    await page.getByText('Paused. Its events wait').waitFor();
    const before = receiver.received.length;
    await trailgate.admin.createKey(account.id, { name: 'Shop', scopes: ['customers:read'] });
    await page.reload();
    await delivery('api_key.created').getByText('Pending').waitFor();
    expect(receiver.received).toHaveLength(before);
    await press('Resume');
    await pressInDialog('Resume');
    await eventually('the event arrives', () => receiver.received.length === before + 1);
    await delivery('api_key.created').getByText('Delivered').waitFor();
  });

  it('saves delivery settings, and resends all failed events', async () => {
    await press('Edit');
    await pressInDialog('Delivery settings');
    await page.getByLabel('Custom retry schedule').check();
    const pauses = page.getByRole('combobox', { name: 'Retry delays', exact: true });
    await pauses.pressSequentially('30s,soon,');
    await pressInDialog('Save');
    await page.getByText('Enter up to 20 delays').waitFor();
    await page.getByLabel('Never').check();
    await page.getByLabel('Max per second').fill('40');
    await page.getByLabel('Timeout (seconds)').fill('2.5');
    await pressInDialog('Save');
    await page.getByText('one attempt · max 40 per second · timeout 2.5 s').waitFor();
    receiver.respond((response) => void response.writeHead(500).end());
    await trailgate.admin.createKey(account.id, { name: 'Widget', scopes: ['customers:read'] });
    await eventually('the delivery has failed', async () => {
      await page.reload();
      await page.getByRole('link', { name: 'api_key.created' }).first().waitFor();
      return (await delivery('api_key.created').getByText('Failed').count()) === 1;
    });
    receiver.respond((response) => void response.writeHead(204).end());
    await press('Resend events');
    await pressInDialog('Send again');
    await dialog().getByText('Resending 1 event.').waitFor();
    await closeDialog();
    await delivery('api_key.created').first().getByText('Delivered').waitFor();
  });

  it('rotates the secret while the old one still signs, and offers a .env line with the new one', async () => {
    await press('Rotate secret');
    await pressInDialog('Create new secret');
    await pressInDialog('Copy: .env file');
    await dialog().getByText('Copied').waitFor();
    const { WEBHOOK_SECRET: secret = '' } = parseEnv(await page.evaluate<string>('navigator.clipboard.readText()'));
    await storeSecret();
    expect(new Set(secrets).size).toBe(2);
    expect(await page.content()).not.toContain('whsec_');
    await press('Send test event');
    await pressInDialog('Send');
    await dialog().getByText('Delivered.').waitFor();
    await closeDialog();
    const tested = receiver.received.at(-1)!;
    const signatures = String(tested.headers['webhook-signature']).split(' ');
    expect(signatures.filter((each) => each.startsWith('v1,'))).toHaveLength(2);
    expect(signatures).toContain(signatureOf(tested, Buffer.from(secret.replace('whsec_', ''), 'base64')));
  });

  it('warns about concurrent changes, and keeps those of other fields', async () => {
    const id = endpointUrl.split('/').at(-1) ?? '';
    await press('Edit');
    await page.getByLabel('Description').fill('The shop in Munich');
    await trailgate.admin.call('PATCH', `/webhook-endpoints/${id}`, {
      url: `${receiver.url}/new`,
      description: 'Shop',
    });
    await pressInDialog('Save');
    await page.getByText('This was changed while you were editing').waitFor();
    await pressInDialog('Overwrite');
    await pressInDialog('Save');
    await dialog().waitFor({ state: 'hidden' });
    await page.getByRole('heading', { name: `${receiver.url}/new` }).waitFor();
    await page.getByText('The shop in Munich').waitFor();
  });

  it('adds and tests an endpoint with the keyboard alone', async () => {
    await page.goto(at('webhooks'));
    await page.getByRole('link', { name: `${receiver.url}/new` }).waitFor();
    await pressByKeyboard(page, 'Add endpoint');
    await dialog().waitFor();
    await tabTo(page, 'URL');
    await page.keyboard.type(`${receiver.url}/keyboard`);
    await pressByKeyboard(page, 'Add endpoint');
    await page.getByText('Copy your secret now').waitFor();
    await tabTo(page, "I've saved this");
    await page.keyboard.press('Space');
    await pressByKeyboard(page, 'Done');
    await dialog().waitFor({ state: 'hidden' });
    await pressByKeyboard(page, `${receiver.url}/keyboard`);
    await page.getByRole('button', { name: 'Send test event' }).waitFor();
    await pressByKeyboard(page, 'Send test event');
    await dialog().waitFor();
    await tabTo(page, 'Close');
    await pressByKeyboard(page, 'Send');
    await dialog().getByText('Delivered.').waitFor();
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'hidden' });
    await delivery('webhook.test').getByText('Delivered').waitFor();
  });

  it('polls only the newest deliveries while some are pending, and keeps its data without a network', async () => {
    await press('Pause');
    await pressInDialog('Pause');
    await page.getByText('Paused. Its events wait').waitFor();
    for (let made = 0; made < 55; made++) await trailgate.admin.createKey(account.id, { name: `Key ${made}` });
    await page.clock.install();
    await page.reload();
    await press('Load more');
    await page.getByText('webhook.test').waitFor();
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(request.url()));
    const isReadTwice = async () => asked.filter((url) => /deliveries\?/.test(url)).length >= 2;
    await passTimeUntil(page, 'the deliveries were read again twice', isReadTwice);
    expect(asked.filter((url) => url.includes('cursor='))).toEqual([]);
    await page.getByText('webhook.test').waitFor();
    const lost = page.getByText("Can't reach the server");
    await browser.context.setOffline(true);
    await passTimeUntil(page, 'the page shows that the server cannot be reached', () => lost.first().isVisible());
    await page.getByText('webhook.test').waitFor();
    await browser.context.setOffline(false);
    await passTimeUntil(page, 'the deliveries are read again', async () => (await lost.count()) === 0);
    expect(await page.getByRole('listitem').filter({ hasText: 'api_key.created' }).count()).toBe(55);
  });

  it('shows an endpoint that an operator disabled, which only operators can resume', async () => {
    const path = `/webhook-endpoints/${page.url().split('/').at(-1)}`;
    const context = await browser.newContext();
    await signInThere(context, await newOperator(trailgate), panelUrlOf(trailgate));
    const theirs = await context.newPage();
    await theirs.goto(page.url());
    await theirs.getByRole('button', { name: 'Disable', exact: true }).click();
    await theirs.getByRole('dialog').getByRole('button', { name: 'Disable', exact: true }).click();
    await theirs.getByText('Disabled by your API provider').waitFor();
    expect(await trailgate.admin.call('GET', path)).toMatchObject({ status: 'disabled', disabled_reason: 'operator' });
    await page.reload();
    await page.getByText('Disabled by your API provider').waitFor();
    expect(await page.getByRole('button', { name: /^(Resume|Pause|Disable)$/ }).count()).toBe(0);
    await theirs.getByRole('button', { name: 'Resume' }).click();
    await theirs.getByLabel('Skip all', { exact: true }).check();
    await theirs.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await theirs.getByRole('button', { name: 'Pause' }).waitFor();
    await context.close();
  });

  it('is accessible in both languages and color schemes, and causes no errors', async () => {
    for (const [scheme, locale, viewport] of [
      ['light', 'en', DESK],
      ['dark', 'es', PHONE],
    ] as const) {
      await page.evaluate(
        `Object.assign(localStorage, { 'trailgate-color-scheme': '${scheme}', 'trailgate-locale': '${locale}' })`,
      );
      await page.setViewportSize(viewport);
      for (const url of [at('webhooks'), endpointUrl, deliveryUrl]) {
        await page.goto(url);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await hasRead(page);
        expect({ url, found: await axeFindings(page) }).toEqual({ url, found: [] });
        expect({ url, isTooWide: await scrollsSideways(page) }).toEqual({ url, isTooWide: false });
      }
    }
    await page.getByText('Contenido', { exact: true }).waitFor();
    // The program describes its events in English; the panel translates that.
    await page.goto(at('webhooks/new'));
    await page.getByLabel(spanish('Select events')).check();
    await page.getByText(spanish('An API key was created.')).waitFor();
    expect(browser.faults).toEqual([]);
  });

  it('shows a viewer the endpoints, but no actions and no deliveries', async () => {
    await trailgate.admin.call('POST', `/accounts/${account.id}/webhook-endpoints`, { url: PUBLIC_URL });
    const context = await browser.newContext();
    await signInThere(context, await newPerson(trailgate, account.id, 'viewer'), panelUrlOf(trailgate));
    const theirs = await context.newPage();
    await theirs.goto(at('webhooks'));
    await theirs.getByRole('link', { name: PUBLIC_URL }).click();
    await theirs.getByText('Public key').waitFor();
    expect(await theirs.getByRole('main').getByRole('button').count()).toBe(0);
    expect(await theirs.getByText('Deliveries').count()).toBe(0);
    await context.close();
  });
});
