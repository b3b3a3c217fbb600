/**
 * `npm run screenshots`: pictures of every page of the panel, light, dark and as wide as a phone, into
 * `test/panel/screenshots/`; and the README's picture into `docs/panel.png`.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

registerHooks({
  resolve(specifier, context, next) {
    const fromSupport = specifier.startsWith('.') && context.parentURL?.includes('/test/support/');
    return next(fromSupport ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});
process.env.TMPDIR = mkdtempSync(join(tmpdir(), 'trailgate-screenshots-'));
const { startBrowser } = await import('../support/browser.ts');
const { startDemo } = await import('../support/demo.ts');

const FOLDER = fileURLToPath(new URL('screenshots/', import.meta.url));
const README_PICTURE = fileURLToPath(new URL('../../docs/panel.png', import.meta.url));
const PAGES = ['api-keys', 'api-keys/new', 'usage', 'logs', 'explain', 'audit-log', 'members', 'account', '/profile'];
const KEYS = [
  { name: 'Booking widget', scopes: ['customers:read', 'customers:write'], limits: { minute: 60, month: 40 } },
  { name: 'Accounting export', scopes: ['customers:read'], expires_at: '2027-06-30T00:00:00Z' },
  { name: 'Newsletter', scopes: ['customers:read'] },
  { name: 'Test rig of the agency', scopes: ['*'], environment: 'test' },
];
const WIDTHS = { desk: { width: 1_280, height: 860 }, phone: { width: 390, height: 844 } };

/** Keys, and calls with them, so that there is something to see. */
async function fill(demo) {
  const { readFileSync } = await import('node:fs');
  const token = readFileSync(join(demo.dataDir, 'admin-token'), 'utf8').trim();
  const post = async (path, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${demo.panelUrl}/admin/v1${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return response.json();
  };
  const { data } = await fetch(`${demo.panelUrl}/admin/v1/accounts`, {
    headers: { authorization: `Bearer ${token}` },
  }).then((response) => response.json());
  for (const [index, key] of KEYS.entries()) {
    const { id, secret } = await post(`/accounts/${data[0].id}/api-keys`, key);
    for (let call = 0; call < 30 - index * 8; call++) {
      const path = call % 7 === 3 ? 'customers/cus_unknown' : 'customers?limit=5';
      await fetch(`${demo.gatewayUrl}/api/v1/${path}`, { headers: { authorization: `Bearer ${secret}` } });
    }
    if (key.name === 'Newsletter') await post(`/api-keys/${id}/pause`);
  }
}

const [demo, browser] = await Promise.all([startDemo(), startBrowser()]);
try {
  await fill(demo);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  const page = await browser.newPage();
  const shoot = (name) => page.screenshot({ path: join(FOLDER, `${name}.png`) });
  await page.goto(`${demo.panelUrl}/sign-in`);
  await page.getByLabel('Email').waitFor();
  await shoot('sign-in');
  await page.goto(demo.link);
  await page.getByRole('button', { name: 'Open the panel' }).waitFor();
  await shoot('link');
  await page.getByRole('button', { name: 'Open the panel' }).click();
  await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
  const home = page.url().replace('/api-keys', '');
  for (const scheme of ['light', 'dark']) {
    await page.evaluate(`localStorage.setItem('trailgate-color-scheme', '${scheme}')`);
    for (const [width, viewport] of Object.entries(WIDTHS)) {
      await page.setViewportSize(viewport);
      for (const path of PAGES) {
        await page.goto(new URL(path, `${home}/`).href);
        await page.getByRole('heading').first().waitFor();
        await page.waitForTimeout(1_500);
        await shoot(`${path.replace(/^\//, '').replaceAll('/', '-')}-${scheme}-${width}`);
      }
    }
  }
  // Last: times of last use are written some seconds late.
  await page.evaluate(`localStorage.setItem('trailgate-color-scheme', 'light')`);
  await page.setViewportSize({ width: 1_280, height: 760 });
  await page.goto(`${home}/api-keys`);
  await page.waitForTimeout(1_500);
  await shoot('readme');
  copyFileSync(join(FOLDER, 'readme.png'), README_PICTURE);
  console.log(`Pictures: ${FOLDER}`);
} finally {
  await browser.close();
  await demo.stop();
  rmSync(process.env.TMPDIR, { recursive: true, force: true });
}
