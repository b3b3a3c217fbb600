/**
 * When the dialog that showed a secret is closed, the secret is gone. It is not in the page, its storage, history or
 * memory, not in the browser's files, and nowhere on the server.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import { hashSecret } from '../../src/keys/api-key-format.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { startOwnBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { newPerson, panelUrlOf, signInThere } from '../support/panel-people.js';
import { temporaryFolder } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { filesOf, findSecrets } from '../support/secret-search.js';

const SECRET = /tg_live_[0-9A-Za-z]{36}/;
/** Script that returns everything that a script of the page could find. */
const WITHIN_REACH = `(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href, name, document.cookie,
  await indexedDB.databases(), await caches.keys(), performance.getEntries().map((entry) => entry.name),
  [...document.querySelectorAll('input, textarea')].map(({ value }) => value), document.documentElement.outerHTML]))()`;

describeWithChromium('a secret whose dialog was closed', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;
  let browser: Browser;
  let page: Page;
  let devtools: CDPSession;
  let home: string;
  const profile = temporaryFolder('chromium');
  let accountId: string;
  const secrets: string[] = [];

  beforeAll(async () => {
    backend = await startBackend(json({ data: [] }));
    [trailgate, browser] = await Promise.all([
      startTrailgate({ backend: backend.url, env: { LOG_LEVEL: 'trace' } }),
      startOwnBrowser(profile),
    ]);
    accountId = (await trailgate.admin.createAccount({ plan: 'starter' })).id;
    home = `${panelUrlOf(trailgate)}/${accountId}/api-keys`;
    await signInThere(browser.context, await newPerson(trailgate, accountId, 'owner'), panelUrlOf(trailgate));
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    page = await browser.newPage();
    // The browser asks before it leaves a page that shows a secret.
    page.on('dialog', (dialog) => void dialog.accept());
    devtools = await browser.context.newCDPSession(page);
  });
  afterAll(async () => {
    await browser?.close();
    await trailgate?.stop();
    await backend?.stop();
  });

  /** Returns the shown secret, read from the accessibility tree. A script would leave it in the memory of the page. */
  const shownSecret = async (): Promise<string> => {
    await page.getByText('Copy your secret now').waitFor();
    const { nodes } = await devtools.send('Accessibility.getFullAXTree');
    const secret = SECRET.exec(JSON.stringify(nodes))?.[0] ?? '';
    expect(secrets).not.toContain(secret);
    secrets.push(secret);
    return secret;
  };
  const openCreate = async (name: string): Promise<void> => {
    await page.goto(`${home}/new?name=${name}&scopes=customers:read`);
    await page.getByRole('button', { name: 'Create key' }).click();
  };
  const store = async (): Promise<void> => {
    for (const line of ['Secret', '.env file', 'Test with curl']) {
      await page.getByRole('button', { name: `Copy: ${line}` }).click();
    }
    await page.getByLabel("I've saved this secret").check();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  };
  /** Returns a heap snapshot of the page after garbage collection. */
  const memory = async (): Promise<string> => {
    const parts: string[] = [];
    const keep = ({ chunk }: { chunk: string }) => parts.push(chunk);
    devtools.on('HeapProfiler.addHeapSnapshotChunk', keep);
    await devtools.send('HeapProfiler.collectGarbage');
    await devtools.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
    devtools.off('HeapProfiler.addHeapSnapshotChunk', keep);
    return parts.join('');
  };
  const addresses = async (): Promise<string> => {
    const { entries } = await devtools.send('Page.getNavigationHistory');
    return JSON.stringify(entries);
  };
  /** Returns where in the tab a secret was found. */
  const inTab = async (): Promise<string[]> =>
    findSecrets(
      [
        { name: 'page', text: await page.evaluate<string>(WITHIN_REACH), mustHold: 'trailgate-account' },
        { name: 'history', text: await addresses(), mustHold: home },
        { name: 'memory', text: await memory(), mustHold: accountId },
      ],
      secrets,
    );

  it('is found in page and memory while it is shown, which proves that the search works', async () => {
    await openCreate('Shown');
    const secret = await shownSecret();
    expect(await page.evaluate<string>(WITHIN_REACH)).toContain(secret);
    expect(await memory()).toContain(secret);
    await store();
  });

  it('is nowhere in the tab after it was copied and stored', async () => {
    expect(await inTab()).toEqual([]);
  });

  it('is nowhere in the tab after a rotation', async () => {
    await page.getByRole('link', { name: 'Shown' }).click();
    await page.getByRole('button', { name: 'Rotate key' }).click();
    await page.getByRole('button', { name: 'Create new secret' }).click();
    await shownSecret();
    await store();
    expect(await inTab()).toEqual([]);
  });

  it('is nowhere in the tab after going back, and does not return by browser navigation', async () => {
    await openCreate('Left');
    await shownSecret();
    await page.goBack();
    await page.getByRole('button', { name: 'Close anyway', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await inTab()).toEqual([]);
    for (const move of [() => page.goForward(), () => page.goBack(), () => page.goBack(), () => page.reload()]) {
      await move();
      expect(
        findSecrets([{ name: 'page', text: await page.evaluate<string>(WITHIN_REACH), mustHold: 'html' }], secrets),
      ).toEqual([]);
    }
  });

  it('is nowhere in the tab after leaving for another page and returning', async () => {
    await openCreate('Gone');
    await shownSecret();
    await page.goto('about:blank');
    await page.goBack();
    // The next entry is the visited page, so nothing had navigated back before.
    const { currentIndex, entries } = await devtools.send('Page.getNavigationHistory');
    expect(entries.slice(currentIndex + 1).map(({ url }) => url)).toEqual(['about:blank']);
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    expect(await inTab()).toEqual([]);
  });

  it('is in no file, log or response of the server', async () => {
    const { admin } = trailgate;
    const responses: string[] = [];
    for (const path of [
      `/accounts/${accountId}/api-keys`,
      `/accounts/${accountId}/requests`,
      '/audit-log',
      `/events`,
    ]) {
      responses.push((await admin.request('GET', path)).text);
    }
    const places = () => [
      { name: 'files', text: filesOf(trailgate.dataDir), mustHold: hashSecret(secrets[0] ?? '') },
      { name: 'stdout', text: trailgate.stdout.join('\n'), mustHold: 'listening' },
      { name: 'stderr', text: trailgate.stderr.join('\n'), mustHold: '' },
      { name: 'responses', text: responses.join('\n'), mustHold: 'api_key.rotated' },
    ];
    expect(findSecrets(places(), secrets)).toEqual([]);
    await trailgate.stop();
    expect(findSecrets(places(), secrets)).toEqual([]);
  });

  it('is in no file that the browser keeps: cache, history, storage, sessions', async () => {
    expect(browser.faults).toEqual([]);
    await browser.context.close();
    const places = [
      { name: 'profile', text: filesOf(profile), mustHold: accountId },
      { name: 'cache', text: filesOf(join(profile, 'Default', 'Cache')), mustHold: '/assets/index-' },
    ];
    expect(findSecrets(places, secrets)).toEqual([]);
    expect(secrets).toHaveLength(4);
  });
});
