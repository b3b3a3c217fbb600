/** A hostile page in the browser of a signed-in administrator cannot change, read or frame anything of the panel. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { newPerson, panelUrlOf, signInThere, type Person } from '../support/panel-people.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

describeWithChromium('a hostile page', () => {
  let trailgate: SharedTrailgate;
  let browser: Browser;
  let server: Server;
  let evil: string;
  let html = '';
  let page: Page;
  let panel: string;
  let accountId: string;
  let key: ApiKeyWithSecret;
  let person: Person;

  beforeAll(async () => {
    server = createServer((_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(html));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    [trailgate, browser] = await Promise.all([acquireTrailgate(), startBrowser()]);
    panel = panelUrlOf(trailgate);
    // Another port of the same host is the same site, so the browser sends cookies. Another site can do less.
    evil = `http://localhost:${port}`;
    accountId = (await trailgate.admin.createAccount({ plan: 'starter' })).id;
    key = await trailgate.admin.createKey(accountId, { name: 'Shop' });
    person = await newPerson(trailgate, accountId, 'owner');
    await signInThere(browser.context, person, panel);
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
    await trailgate?.stop();
  });

  const show = async (content: string): Promise<void> => {
    html = `<!doctype html><title>You have won</title>${content}`;
    await page.goto(evil);
  };
  const keyNow = () => trailgate.admin.getKey(key.id);
  const keysNow = async () => (await trailgate.admin.listKeys(accountId)).data.length;

  it('is same-site for the browser, which sends the session cookie', async () => {
    await show('');
    const [request] = await Promise.all([
      page.waitForRequest((each) => each.url().startsWith(panel)),
      page.goto(`${panel}/admin/v1/me`),
    ]);
    expect((await request.allHeaders())['cookie']).toContain('tg_session=');
  });

  it.each(['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data'])(
    'changes nothing with a form sent as %s',
    async (type) => {
      for (const path of [
        `/api-keys/${key.id}/pause`,
        `/api-keys/${key.id}/rotate`,
        `/accounts/${accountId}/api-keys`,
        '/sign-out',
        '/links/take',
      ]) {
        // As text/plain, the field reads as JSON: {"name":"…","scopes":["*"],"x":"="}
        await show(`<form method="post" action="${panel}/admin/v1${path}" enctype="${type}">
          <input name='{"name":"Taken","scopes":["*"],"overlap_seconds":0,"token":"x","x":"' value='"}'></form>`);
        const [response] = await Promise.all([page.waitForNavigation(), page.evaluate('document.forms[0].submit()')]);
        expect((await response?.request().allHeaders())?.['cookie']).toContain('tg_session=');
        expect([path, response?.status()]).toEqual([path, 403]);
      }
      expect(await keyNow()).toMatchObject({ status: 'active', hint: key.hint });
      expect(await keysNow()).toBe(1);
      expect((await person.session.ask('GET', '/me')).status).toBe(200);
    },
  );

  it('changes and reads nothing with scripted requests', async () => {
    await show('');
    const told = await page.evaluate<string[]>(`(async () => {
      const told = [];
      const calls = [
        ['GET', '/me'], ['GET', '/accounts/${accountId}/api-keys'],
        ['POST', '/api-keys/${key.id}/pause'], ['DELETE', '/api-keys/${key.id}'],
        ['PATCH', '/api-keys/${key.id}', '{"name":"Taken"}'],
      ];
      for (const mode of ['cors', 'no-cors']) for (const [method, path, body] of calls) {
        const type = mode === 'cors' ? 'application/json' : 'text/plain';
        try {
          const response = await fetch('${panel}/admin/v1' + path,
            { method, mode, body, credentials: 'include', headers: body ? { 'Content-Type': type } : {} });
          const text = await response.text();
          if (text !== '' || response.type !== 'opaque') told.push([mode, method, path, response.status, text].join(' '));
        } catch { /* Stopped by the browser: no field of the response allows it. */ }
      }
      return told;
    })()`);
    expect(told).toEqual([]);
    expect(await keyNow()).toMatchObject({ name: 'Shop', status: 'active' });
  });

  it('cannot load panel responses as a script, image or stylesheet', async () => {
    const url = `${panel}/admin/v1/accounts/${accountId}/api-keys`;
    await show(`<script>window.loaded = []; const heard = (event) => loaded.push(event.target.tagName)</script>
      <script src="${url}" onload="heard(event)"></script><img src="${url}" onload="heard(event)">
      <link rel="stylesheet" href="${url}" onload="heard(event)"><script src="${panel}/color-scheme.js" onload="heard(event)"></script>`);
    await page.waitForLoadState('networkidle');
    expect(await page.evaluate('loaded')).toEqual([]);
  });

  it.each(['', '/api-keys', '/sign-in', '/link', '/admin/v1/me', '/livez'])(
    'cannot show "%s" of the panel in a frame',
    async (path) => {
      await show(
        `<iframe src="${panel}${path}"></iframe><object data="${panel}${path}"></object><embed src="${panel}${path}">`,
      );
      await page.waitForLoadState('networkidle');
      const frames = page.frames().filter((frame) => frame !== page.mainFrame());
      expect(frames.length).toBeGreaterThan(0);
      for (const frame of frames) {
        expect(frame.url()).not.toContain(panel);
        expect(await frame.locator('#root').count()).toBe(0);
        expect((await frame.locator('body').innerText()).includes('csrf_token')).toBe(false);
      }
    },
  );

  it('keeps no reference to a panel window that it opens', async () => {
    await show('');
    const [opened] = await Promise.all([
      page.waitForEvent('popup'),
      page.evaluate(`window.other = open('${panel}/${accountId}/api-keys')`),
    ]);
    await opened.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    expect(await opened.evaluate('window.opener')).toBeNull();
    expect(await page.evaluate('other.closed')).toBe(true);
    await opened.close();
  });

  it('does not affect the panel in its own tab', async () => {
    await page.goto(`${panel}/${accountId}/api-keys/${key.id}`);
    await page.getByRole('main').getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause key' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    expect(await keyNow()).toMatchObject({ status: 'paused' });
  });
});
