/** The audit log shows names instead of IDs, and words instead of the API's values, also in Spanish. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { startPanel, type RunningPanel } from '../support/panel.js';
import { newPerson, panelUrlOf, signInThere } from '../support/panel-people.js';

/** Matches raw values of the API, such as IDs and JSON, which texts for users must not contain. */
const RAW = /\b(?:mem|key|acc|tok|inv|ses|adj|whe|psk)_[0-9a-z]{20,}|\b[a-z]+_[a-z]+\b|\{"|\[|\d{4}-\d\d-\d\dT/;

describeWithChromium('the audit log', () => {
  let panel: RunningPanel;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    [panel, browser] = await Promise.all([startPanel(), startBrowser()]);
    const { admin } = panel;
    const account = await admin.createAccount({ name: 'Isar Rafting', plan: 'starter' });
    const ana = await newPerson(panel, account.id, 'owner', 'Ana');
    const ben = await newPerson(panel, account.id, 'viewer', 'Ben');
    const { member } = await ben.session.call<{ member: { id: string } }>('GET', '/me');
    await ana.session.call('PATCH', `/accounts/${account.id}/members/${member.id}`, { role: 'admin' });
    const key = await admin.createKey(account.id, { name: 'Shop', scopes: ['customers:read'] });
    await ana.session.call('PATCH', `/api-keys/${key.id}`, {
      scopes: ['customers:read', 'customers:write'],
      expires_at: '2030-02-20T23:59:59Z',
      allowed_ips: ['203.0.113.7'],
      limits: { minute: 60 },
    });
    await ana.session.call('POST', `/api-keys/${key.id}/pause`);
    await admin.adjustQuota(account.id, { window: 'month', type: 'set', amount: 12_345, reason: 'Feria' });
    const hooks = `/accounts/${account.id}/webhook-endpoints`;
    const endpoint = await admin.call<{ id: string }>('POST', hooks, { url: 'https://shop.example.com/hooks' });
    await admin.call('PATCH', `/webhook-endpoints/${endpoint.id}`, { concurrency: 3, timeout_ms: 4_000 });
    await admin.call('PATCH', `/webhook-endpoints/${endpoint.id}`, { status: 'paused' });
    await signInThere(browser.context, ana, panelUrlOf(panel));
    page = await browser.newPage();
    await page.goto(`${panelUrlOf(panel)}/${account.id}/audit-log`);
    await page.getByText('Key paused').waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await panel?.close();
  });

  const entries = () => page.getByRole('main').getByRole('listitem').allInnerTexts();

  it('describes each change in words: actor, target, old and new value', async () => {
    const lines = (await entries()).map((text) => text.replaceAll(/\s+/g, ' '));
    const of = (action: string) => lines.find((line) => line.startsWith(action)) ?? '';
    expect(of('Key paused')).toMatch(/^Key paused: Shop Ana · .*Status: Active → Paused$/);
    expect(of('Key changed')).toMatch(/Expiration: No expiration → 20 Feb 2030, 23:59/);
    expect(of('Key changed')).toContain('Addresses: From anywhere → 203.0.113.7');
    expect(of('Key changed')).toContain(
      'Key limits: plan default → 60 per minute, plan default per day, plan default per month',
    );
    expect(of('Role changed')).toMatch(/^Role changed: Ben Ana · .*Role: Viewer → Admin$/);
    expect(of('Monthly limit adjusted')).toMatch(/Requests used: 0 → 12,345 Reason: Feria$/);
    expect(of('Webhook endpoint paused')).toContain('Webhook endpoint paused: https://shop.example.com/hooks');
    expect(lines.filter((line) => RAW.test(line))).toEqual([]);
  });

  it('has no API words and no English on the Spanish page', async () => {
    await page.evaluate(`localStorage.setItem('trailgate-locale', 'es')`);
    await page.reload();
    await page.getByText('Clave en pausa').first().waitFor();
    const texts = await entries();
    expect(texts.length).toBeGreaterThan(8);
    expect(texts.filter((text) => RAW.test(text))).toEqual([]);
    const english =
      /\b(?:active|paused|viewer|admin|owner|live|test|null|true|false|operator|system|created|changed)\b/;
    expect(texts.filter((text) => english.test(text))).toEqual([]);
  });

  it('has navigation links of one line, in Spanish too', async () => {
    const heights = await page
      .getByRole('navigation')
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => [link.textContent, link.getBoundingClientRect().height] as const));
    const usual = Math.min(...heights.map(([, height]) => height));
    expect(heights.length).toBeGreaterThan(6);
    expect(heights.filter(([, height]) => height > usual)).toEqual([]);
  });

  it('causes no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
