/** Every page is accessible in both color schemes and on small screens, and a Spanish page has no English. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { AdminClient } from '../support/admin.js';
import { axeFindings, goWithin, hasRead, scrollsSideways, startBrowser, type Browser } from '../support/browser.js';
import { startDemo, type RunningDemo } from '../support/demo.js';
import { describeWithChromium } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { GOOD_PASSWORD, PanelBrowser } from '../support/signed-in.js';
import { readFileSync } from 'node:fs';

/** Paths from the panel's own page tables, except pages of single objects, plus one that does not exist. */
const PAGES = [
  ...readFileSync('src/panel/routes/page-list.ts', 'utf8')
    .split('OWN_PAGES')
    .flatMap((rows, at) =>
      Array.from(rows.matchAll(/ path: '([\w/-]+)'/g), ([, path]) => (at === 0 ? `${path}` : `/${path}`)),
    ),
  'nowhere',
];
const PHONE = { width: 390, height: 844 };
const SMALL_PHONE = { width: 360, height: 780 };
const DESK = { width: 1_280, height: 860 };

/** Returns the English texts whose translation differs. A Spanish page must not show any of them. */
function englishTexts(): string[] {
  const catalogue = readFileSync('src/panel/locales/es.po', 'utf8');
  return Array.from(catalogue.matchAll(/^msgid "(.+)"\nmsgstr "(.+)"$/gm))
    .filter(([, english, spanish]) => english !== spanish && !/[{<]/.test(english ?? ''))
    .map(([, english = '']) => english.replaceAll('\\"', '"'));
}

it('finds the pages of the panel', () => expect(PAGES.length).toBeGreaterThan(15));

describeWithChromium('every page of the panel', () => {
  let demo: RunningDemo;
  let browser: Browser;
  let page: Page;
  let home: string;

  beforeAll(async () => {
    [demo, browser] = await Promise.all([startDemo(), startBrowser()]);
    const key = /Bearer (tg_live_\w+)/.exec(demo.output())?.[1] ?? '';
    for (const path of ['customers', 'customers/nobody', 'nothing']) {
      await send(`${demo.gatewayUrl}/api/v1/${path}`, { headers: { authorization: `Bearer ${key}` } });
    }
    page = await browser.newPage();
    await page.goto(demo.link);
    await page.getByRole('button', { name: 'Continue to dashboard' }).click();
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    home = page.url().replace('/api-keys', '');
    // Add a member with the role that has the longest name.
    const admin = new AdminClient(demo.adminUrl, readFileSync(`${demo.dataDir}/admin-token`, 'utf8').trim());
    const link = { email: 'benedikt@example.com', role: 'admin' };
    const invited = await admin.call<{ link: string }>('POST', `/accounts/${home.split('/').at(-1)}/invitations`, link);
    const taken = { token: new URL(invited.link).hash.slice(1), name: 'Benedikt', password: GOOD_PASSWORD };
    await new PanelBrowser(demo.adminUrl).call('POST', '/links/take', taken);
  });
  afterAll(async () => {
    await browser?.close();
    await demo?.stop();
  });

  const open = async (path: string): Promise<void> => {
    await goWithin(page, path.startsWith('/') ? new URL(path, home).href : `${home}/${path}`);
    await page.getByRole('heading').first().waitFor();
    await hasRead(page);
  };
  const choose = async (names: Readonly<Record<string, string>>): Promise<void> => {
    await page.evaluate(`Object.assign(localStorage, ${JSON.stringify(names)})`);
    await page.reload();
  };

  it('lists keys under Settings and Developers, and mentions "npm" neither there nor in the audit log', async () => {
    const developers = page.getByRole('group', { name: 'Settings' }).getByRole('group', { name: 'Developers' });
    await developers.getByRole('link', { name: 'API keys' }).click();
    expect(await page.getByRole('main').textContent()).not.toContain('npm');
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByText('Key created').waitFor();
    expect(await page.getByRole('main').textContent()).not.toContain('npm');
  });

  /** Script that finds inputs, tables and headings that are cut off and cannot be scrolled. */
  const CUT_OFF = `[...document.querySelectorAll('main input[readonly], main table, main th')].filter((element) => {
    const place = element.matches('input, th') ? element : element.parentElement;
    return place.scrollWidth > place.clientWidth && getComputedStyle(place).overflowX !== 'auto';
  }).map(({ value, textContent }) => value ?? textContent)`;

  // Colors depend on the scheme and layout on the width, so each is checked once.
  it.each([
    ['light', 'on a desk', DESK],
    ['dark', 'on a phone', PHONE],
  ] as const)('passes axe and does not scroll sideways, %s %s', async (scheme, _where, viewport) => {
    await choose({ 'trailgate-color-scheme': scheme });
    await page.setViewportSize(viewport);
    for (const path of PAGES) {
      await open(path);
      expect({ path, found: await axeFindings(page) }).toEqual({ path, found: [] });
      expect({ path, isTooWide: await scrollsSideways(page) }).toEqual({ path, isTooWide: false });
    }
  });

  it('is entirely in Spanish, without cut-off text on a small phone', async () => {
    await choose({ 'trailgate-locale': 'es', 'trailgate-color-scheme': 'light' });
    await page.setViewportSize(DESK);
    const english = new Set(englishTexts());
    expect(english.size).toBeGreaterThan(200);
    for (const path of PAGES) {
      await open(path);
      expect(await page.getAttribute('html', 'lang')).toBe('es');
      const texts = await page.evaluate<string[]>(
        `[...document.querySelectorAll('body *')].flatMap((element) => [
          ...[...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data.trim()),
          ...['aria-label', 'placeholder', 'title'].map((name) => element.getAttribute(name) ?? '')])`,
      );
      expect(texts.length).toBeGreaterThan(20);
      expect({ path, english: texts.filter((text) => english.has(text)) }).toEqual({ path, english: [] });
      // Spanish needs more room, so the same page is also checked on a narrow phone.
      await page.setViewportSize(SMALL_PHONE);
      await hasRead(page);
      expect({ path, cutOff: await page.evaluate(CUT_OFF) }).toEqual({ path, cutOff: [] });
      await page.setViewportSize(DESK);
    }
  });

  it('describes permissions in the words of the operator, in the language of the reader', async () => {
    await open('api-keys/new');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Clientes', { exact: true }).waitFor();
    await dialog.getByRole('checkbox', { name: /^Listar, buscar y consultar clientes/ }).waitFor();
    await dialog.getByRole('checkbox', { name: /^Crear clientes, modificarlos/ }).waitFor();
    await open('api-keys');
    await page.getByText('Leer clientes').first().waitFor();
    await choose({ 'trailgate-locale': 'en' });
    await open('api-keys/new');
    await dialog.getByText('Customers', { exact: true }).waitFor();
    await dialog.getByRole('checkbox', { name: /^List, search and look up customers/ }).waitFor();
    await choose({ 'trailgate-locale': 'es' });
  });

  it('causes no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
