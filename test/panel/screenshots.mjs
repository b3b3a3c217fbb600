/**
 * `npm run screenshots`: pictures of every page and dialog of the panel, light, dark, in Spanish and as wide as a phone,
 * into `test/panel/screenshots/`; and those of `docs/panel.md`, of which README has one, into `docs/panel/`.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
const { insertKeys } = await import('../support/many-keys.ts');
const { freePort } = await import('../support/processes.ts');
const { shootEdges } = await import('./screenshots-edges.mjs');

const FOLDER = fileURLToPath(new URL('screenshots/', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCS = fileURLToPath(new URL('../../docs/panel/', import.meta.url));
const PAGES = [
  'api-keys',
  'api-keys/new',
  'usage',
  'logs',
  'webhooks',
  'webhooks/new',
  'assistants',
  'assistants/new',
  'explain',
  'access-tokens',
  'access-tokens/new',
  'audit-log',
  'members',
  'account',
  '/profile',
  '/platform/accounts',
  '/platform/adjustments',
  '/platform/health',
];
/** What the docs show of them, by its name there. */
const DOCS_PICTURES = {
  'sign-in': 'sign-in',
  'api-keys': 'readme',
  'new-key': 'api-keys-new-light-desk',
  key: 'key',
  'new-secret': 'new-secret',
  usage: 'usage-light-desk',
  'usage-dark': 'usage-dark-desk',
  'usage-phone': 'usage-dark-phone',
  logs: 'logs-light-desk',
  'logs-phone': 'logs-light-phone',
  webhook: 'webhook',
  'webhooks-new': 'webhooks-new-light-desk',
  assistants: 'assistants-light-desk',
  explain: 'explain-light-desk',
  'access-tokens': 'access-tokens-light-desk',
  members: 'members-light-desk',
  'audit-log': 'audit-log-light-desk',
  account: 'account-light-desk',
  profile: 'profile-light-desk',
  accounts: 'platform-accounts-light-desk',
  adjustments: 'platform-adjustments-light-desk',
  health: 'platform-health-light-desk',
};
const WEBP_QUALITY = 0.82;
const KEYS = [
  { name: 'Booking widget', scopes: ['customers:read', 'customers:write'], limits: { minute: 60, month: 40 } },
  { name: 'Accounting export', scopes: ['customers:read'], expires_at: '2027-06-30T00:00:00Z' },
  { name: 'Newsletter', scopes: ['customers:read'] },
  { name: 'Test rig of the agency', scopes: ['*'], environment: 'test' },
];
const MEMBERS = [
  { name: 'Ana Gruber', email: 'ana.gruber@example.com', role: 'owner' },
  { name: 'Benedikt Moser', email: 'benedikt@example.com', role: 'admin' },
  { name: 'Chiara Rossi', email: 'chiara.rossi@example.com', role: 'viewer' },
];
const INVITED = { email: 'bookkeeping@example.com', role: 'viewer' };
const TOKENS = [
  { name: 'Usage report', role: 'viewer' },
  { name: 'Terraform', role: 'admin' },
];
/** Nobody is there: what is sent fails, and the page says why. */
const ENDPOINTS = [
  { url: 'https://shop.example.com/webhooks', description: 'The shop', event_types: ['api_key.*'] },
  { url: 'https://crm.example.com/hooks/customers', description: 'Customers into the CRM', ordered: true },
];
/** Which button of a page opens it; a page that a link leads to is `[page, link]`. */
const DIALOGS = [
  [['api-keys', 'Booking widget'], 'Change'],
  [['api-keys', 'Booking widget'], 'New secret'],
  [['api-keys', 'Booking widget'], 'Revoke'],
  [['api-keys', 'Trip planner'], 'Revoke'],
  [['assistants'], 'Revoke Trip planner'],
  [['access-tokens'], 'Revoke Terraform'],
  [['members'], 'Invite somebody'],
  [['members'], 'Remove Benedikt Moser'],
  [['webhooks', ENDPOINTS[0].url], 'Change'],
  [['webhooks', ENDPOINTS[0].url], 'New secret'],
  [['webhooks', ENDPOINTS[0].url], 'Send a test'],
  [['webhooks', ENDPOINTS[0].url], 'Send many again'],
  [['webhooks', ENDPOINTS[0].url], 'Pause'],
  [['webhooks', ENDPOINTS[0].url], 'Delete'],
  [['/profile'], 'Set up'],
  [['/platform/accounts'], 'Create an account'],
  [['/platform/adjustments'], 'Adjust a month'],
];
const REDIRECT = 'http://127.0.0.1:4711/callback';
/** What is let in by OAuth, and what it asks for. */
const ASSISTANTS = [
  { name: 'Trip planner', scopes: ['customers:read'], days: 30 },
  { name: 'Ticket bot', scopes: ['customers:read', 'customers:write'], days: 7 },
];
/** The Spanish of each English text. */
const SPANISH = new Map(
  Array.from(
    readFileSync(join(ROOT, 'src/panel/locales/es.po'), 'utf8').matchAll(/^msgid "(.+)"\nmsgstr "(.+)"$/gm),
  ).map(([, english, spanish]) => [english, spanish]),
);
/** How the pages look: colours, language. */
const LOOKS = { light: ['light', 'en'], dark: ['dark', 'en'], spanish: ['light', 'es'] };
const WIDTHS = { desk: { width: 1_280, height: 860 }, phone: { width: 390, height: 844 } };

/** Members, keys, and calls with them, so that there is something to see. */
async function fill(demo) {
  const token = readFileSync(join(demo.dataDir, 'admin-token'), 'utf8').trim();
  const send = (path, body, of = { authorization: `Bearer ${token}` }) => {
    const headers = { ...of, 'content-type': 'application/json' };
    return fetch(`${demo.panelUrl}/admin/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  const post = async (path, body) => (await send(path, body)).json();
  const { data } = await fetch(`${demo.panelUrl}/admin/v1/accounts`, {
    headers: { authorization: `Bearer ${token}` },
  }).then((response) => response.json());
  let owner;
  for (const { name, ...invited } of MEMBERS) {
    const { link } = await post(`/accounts/${data[0].id}/invitations`, invited);
    const taken = { token: new URL(link).hash.slice(1), name, password: 'seven small otters row upstream' };
    const response = await send('/links/take', taken, { origin: demo.panelUrl });
    if (invited.role === 'owner') owner = await sessionOf(response);
  }
  await post(`/accounts/${data[0].id}/invitations`, INVITED);
  for (const [index, key] of KEYS.entries()) {
    const { id, secret } = await post(`/accounts/${data[0].id}/api-keys`, key);
    for (let call = 0; call < 30 - index * 8; call++) {
      const path = call % 7 === 3 ? 'customers/cus_unknown' : 'customers?limit=5';
      await fetch(`${demo.gatewayUrl}/api/v1/${path}`, { headers: { authorization: `Bearer ${secret}` } });
    }
    if (key.name === 'Newsletter') await post(`/api-keys/${id}/pause`);
  }
  const tokensEnd = new Date(Date.now() + 90 * 86_400_000).toISOString();
  for (const token of TOKENS) await send(`/accounts/${data[0].id}/tokens`, { ...token, expires_at: tokensEnd }, owner);
  for (const assistant of ASSISTANTS) {
    const asked = await fetch(await authorizeUrl(assistant), { redirect: 'manual' });
    const id = asked.headers.get('location').split('/').at(-1);
    const expiresAt = new Date(Date.now() + assistant.days * 86_400_000).toISOString();
    const body = { account_id: data[0].id, scopes: assistant.scopes, expires_at: expiresAt };
    await send(`/authorization-requests/${id}/approval`, body, owner);
  }
  const endpoints = [];
  for (const endpoint of ENDPOINTS) endpoints.push(await post(`/accounts/${data[0].id}/webhook-endpoints`, endpoint));
  await post(`/webhook-endpoints/${endpoints[0].id}/test`, { type: 'api_key.created' });
}

/** Where a client that registers under this name sends the browser. */
async function authorizeUrl({ name, scopes }) {
  const registered = await fetch(`${issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: name, redirect_uris: [REDIRECT] }),
  });
  const asked = {
    response_type: 'code',
    client_id: (await registered.json()).client_id,
    redirect_uri: REDIRECT,
    code_challenge: createHash('sha256').update(name).digest('base64url'),
    code_challenge_method: 'S256',
    scope: scopes.join(' '),
    resource: `${issuer}/mcp`,
  };
  return `${issuer}/authorize?${new URLSearchParams(asked)}`;
}

/** Headers of what somebody sends who has just signed in. */
async function sessionOf(response) {
  const cookie = response.headers.getSetCookie().map((line) => line.split(';')[0]);
  const { me } = await response.json();
  return { cookie: cookie.join('; '), 'x-csrf-token': me.csrf_token, 'sec-fetch-site': 'same-origin' };
}

/** The configuration of `npm start`, with an authorization server. */
function configWithOAuth() {
  const text = readFileSync(join(ROOT, 'gateway.yaml'), 'utf8');
  const path = join(process.env.TMPDIR, 'gateway.yaml');
  const oauth = { publicUrl: issuer, port: Number(new URL(issuer).port), registration: true };
  writeFileSync(
    path,
    `${text.replace('./customers.openapi.yaml', join(ROOT, 'customers.openapi.yaml'))}\nmcp: ${JSON.stringify({ oauth })}\n`,
  );
  return path;
}

/** What a button may be called in a language, also one that names somebody. */
function buttonIn(locale, name) {
  if (locale === 'en') return name;
  const all = [...SPANISH].flatMap(([english, spanish]) => {
    const [before, after] = english.split(/\{\w+\}/);
    if (after === undefined) return name === english ? [spanish] : [];
    if (before === '' || !name.startsWith(before) || !name.endsWith(after)) return [];
    return [spanish.replace(/\{\w+\}/, name.slice(before.length, name.length - after.length))];
  });
  return new RegExp(`^(?:${all.join('|')})$`);
}

/** As WebP, by the browser itself: a fifth of the bytes. */
async function writeDocsPictures() {
  const page = await browser.newPage();
  mkdirSync(DOCS, { recursive: true });
  for (const [name, picture] of Object.entries(DOCS_PICTURES)) {
    const png = readFileSync(join(FOLDER, `${picture}.png`)).toString('base64');
    const url = await page.evaluate(`(async () => {
      const image = new Image();
      image.src = 'data:image/png;base64,${png}';
      await image.decode();
      const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', ${WEBP_QUALITY});
    })()`);
    writeFileSync(join(DOCS, `${name}.webp`), Buffer.from(url.split(',')[1], 'base64'));
  }
  await page.close();
}

const issuer = `http://localhost:${await freePort()}`;
const [demo, browser] = await Promise.all([startDemo(undefined, ['--config', configWithOAuth()]), startBrowser()]);
try {
  await fill(demo);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  const page = await browser.newPage();
  const shoot = (name, fullPage = false) => page.screenshot({ path: join(FOLDER, `${name}.png`), fullPage });
  await page.goto(`${demo.panelUrl}/sign-in`);
  await page.getByLabel('Email').waitFor();
  await shoot('sign-in');
  await page.goto(demo.link);
  await page.getByRole('button', { name: 'Open the panel' }).waitFor();
  await shoot('link');
  await page.getByRole('button', { name: 'Open the panel' }).click();
  await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
  const home = page.url().replace('/api-keys', '');
  const look = ([scheme, locale]) =>
    page.evaluate(
      `Object.assign(localStorage, { 'trailgate-color-scheme': '${scheme}', 'trailgate-locale': '${locale}' })`,
    );
  for (const [scheme, colours] of Object.entries(LOOKS)) {
    await look(colours);
    for (const [width, viewport] of Object.entries(WIDTHS)) {
      await page.setViewportSize(viewport);
      await page.goto(await authorizeUrl(ASSISTANTS[1]));
      await page.getByRole('checkbox').first().waitFor();
      await page.waitForTimeout(700);
      await shoot(`consent-${scheme}-${width}`);
      for (const path of PAGES) {
        await page.goto(new URL(path, `${home}/`).href);
        await page.getByRole('heading').first().waitFor();
        await page.waitForTimeout(1_500);
        const named = `${path.replace(/^\//, '').replaceAll('/', '-')}-${scheme}-${width}`;
        await shoot(named);
        // What is below the edge of the window, too.
        if (!path.endsWith('/new')) await shoot(`whole-${named}`, true);
      }
    }
  }
  for (const [scheme, colours] of Object.entries(LOOKS)) {
    await look(colours);
    for (const [width, viewport] of Object.entries(WIDTHS)) {
      await page.setViewportSize(viewport);
      for (const [[path, link], name] of DIALOGS) {
        await page.goto(new URL(path, `${home}/`).href);
        if (link !== undefined) await page.getByRole('link', { name: link }).first().click();
        const button = { name: buttonIn(colours[1], name), exact: true };
        await page.getByRole('main').getByRole('button', button).first().click();
        await page.getByRole('dialog').waitFor();
        await page.waitForTimeout(700);
        const named = [path, link, name]
          .filter(Boolean)
          .join('-')
          .replaceAll(/[^A-Za-z-]+/g, '-')
          .toLowerCase();
        await shoot(`dialog-${named}-${scheme}-${width}`);
      }
    }
  }
  // Last: times of last use are written some seconds late.
  await look(LOOKS.light);
  await page.setViewportSize({ width: 1_280, height: 760 });
  await page.goto(`${home}/api-keys`);
  await page.waitForTimeout(1_500);
  await shoot('readme');
  await page.getByRole('link', { name: 'Booking widget' }).click();
  await page.getByRole('button', { name: 'New secret' }).waitFor();
  await page.waitForTimeout(1_500);
  await shoot('key');
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.waitForTimeout(1_500);
  await shoot('new-secret');
  await page.goto(`${home}/webhooks`);
  await page.getByRole('link', { name: ENDPOINTS[0].url }).click();
  await page.getByRole('button', { name: 'Send a test' }).waitFor();
  await page.waitForTimeout(1_500);
  await shoot('webhook');
  await page.getByRole('link', { name: 'api_key.created' }).first().click();
  await page.getByRole('button', { name: 'Send again' }).waitFor();
  await page.waitForTimeout(1_500);
  await shoot('webhook-delivery');
  await writeDocsPictures();
  await shootEdges({ page, demo, insertKeys, look, shoot, widths: WIDTHS });
  console.log(`Pictures: ${FOLDER}`);
} finally {
  await browser.close();
  await demo.stop();
  rmSync(process.env.TMPDIR, { recursive: true, force: true });
}
