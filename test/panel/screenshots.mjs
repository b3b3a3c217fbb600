/**
 * `npm run screenshots`: takes screenshots of every page and dialog of the panel, in light and dark colors, in Spanish,
 * and at desktop and phone width. Writes them to `test/panel/screenshots/`. Also writes the pictures of
 * `docs/panel.md`, of which README.md shows one, to `docs/panel/`.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import '../support/typescript-imports.mjs';

process.env.TMPDIR = mkdtempSync(join(tmpdir(), 'trailgate-screenshots-'));
const { hasRead, startBrowser } = await import('../support/browser.ts');
const { startDemo } = await import('../support/demo.ts');
const { insertKeys } = await import('../support/many-keys.ts');
const { freePort } = await import('../support/processes.ts');
const { shootEdges } = await import('./screenshots-edges.mjs');
const { shootScenes } = await import('./screenshots-scenes.mjs');

const FOLDER = fileURLToPath(new URL('screenshots/', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCS = fileURLToPath(new URL('../../docs/panel/', import.meta.url));
/** Paths of all pages without an ID in their URL. Paths outside an account begin with a slash. */
const [ofAccount, outside] = readFileSync(join(ROOT, 'src/panel/routes/page-list.ts'), 'utf8')
  .split('OWN_PAGES')
  .map((text) => Array.from(text.matchAll(/ path: '([\w/-]+)'/g), ([, path]) => path));
const PAGES = [...ofAccount, ...outside.map((path) => `/${path}`)];
/** Screenshots for docs/panel.md, by name: every page in light colors at desktop width, and some others. */
const DOCS_PICTURES = {
  ...Object.fromEntries(
    PAGES.filter((path) => !path.endsWith('/new')).map((path) => {
      const page = path.replace(/^\//, '').replaceAll('/', '-');
      return [page.replace('platform-', ''), `${page}-light-desk`];
    }),
  ),
  'sign-in': 'sign-in',
  'api-keys': 'readme',
  'new-key': 'api-keys-new-light-desk',
  key: 'key',
  'new-secret': 'new-secret',
  'usage-dark': 'usage-dark-desk',
  'usage-phone': 'usage-dark-phone',
  'logs-phone': 'logs-light-phone',
  webhook: 'webhook',
  'webhooks-new': 'webhooks-new-light-desk',
};
const WEBP_QUALITY = 0.82;
const LONGEST_WAIT_MS = 5_000;
const KEYS = [
  { name: 'Booking widget', scopes: ['customers:read', 'customers:write'], limits: { minute: 60, month: 40 } },
  { name: 'Accounting export', scopes: ['customers:read'], expires_at: '2027-06-30T00:00:00Z', by: 'admin' },
  { name: 'Newsletter', scopes: ['customers:read'] },
  { name: 'Test rig of the agency', scopes: ['*'], environment: 'test' },
];
const MEMBERS = [
  { name: 'Ana Gruber', email: 'ana.gruber@example.com', role: 'owner' },
  { name: 'Benedikt Moser', email: 'benedikt@example.com', role: 'admin' },
  { name: 'Chiara Rossi', email: 'chiara.rossi@example.com', role: 'viewer' },
];
/** Password of all members and the demo's operator. Members without a password see a notice on every page. */
const PASSWORD = 'seven small otters row upstream';
/** The admin creates one of each, so that the dialog that removes the admin shows what ends and what stays. */
const INVITED = { email: 'bookkeeping@example.com', role: 'viewer' };
const TOKENS = [
  { name: 'Usage report', role: 'viewer', by: 'owner' },
  { name: 'Terraform', role: 'viewer', by: 'admin' },
];
/** URLs without a receiver. Deliveries fail, and the page shows why. */
const ENDPOINTS = [
  { url: 'https://shop.example.com/webhooks', description: 'The shop', event_types: ['api_key.*'] },
  { url: 'https://crm.example.com/hooks/customers', description: 'Customers into the CRM', ordered: true },
];
/** Pages with the button that opens a dialog. `[page, link]` is the page to which a link leads. */
const DIALOGS = [
  [['api-keys', 'Booking widget'], 'Edit'],
  [['api-keys', 'Booking widget'], 'Rotate key'],
  [['api-keys', 'Booking widget'], 'Pause'],
  [['api-keys', 'Booking widget'], 'Revoke'],
  [['api-keys', 'Trip planner'], 'Revoke'],
  [['api-keys', 'Accounting export'], 'Rotate key'],
  [['api-keys', 'Accounting export'], 'End previous secret'],
  [['assistants'], 'Revoke Trip planner'],
  [['access-tokens'], 'Revoke Terraform'],
  [['members'], 'Invite member'],
  [['members'], 'Remove Benedikt Moser'],
  [['members'], `Resend the invitation of ${INVITED.email}`],
  [['webhooks', ENDPOINTS[0].url], 'Edit'],
  [['webhooks', ENDPOINTS[0].url], 'Rotate secret'],
  [['webhooks', ENDPOINTS[0].url], 'Send test event'],
  [['webhooks', ENDPOINTS[0].url], 'Resend events'],
  [['webhooks', ENDPOINTS[0].url], 'Pause'],
  [['webhooks', ENDPOINTS[0].url], 'Delete'],
  [['webhooks', ENDPOINTS[1].url], 'Rotate secret'],
  [['webhooks', ENDPOINTS[1].url], 'End previous secret'],
  [['/profile'], 'Set up'],
  [['/profile'], 'Change password'],
  [['/platform/accounts'], 'Create account'],
  [['/platform/adjustments'], 'Adjust usage'],
];
const REDIRECT = 'http://127.0.0.1:4711/callback';
/** OAuth clients that are authorized, with the scopes that they request. */
const ASSISTANTS = [
  { name: 'Trip planner', scopes: ['customers:read'], days: 30 },
  { name: 'Ticket bot', scopes: ['customers:read', 'customers:write'], days: 7 },
];
/** Spanish translations by English text. */
const SPANISH = new Map(
  Array.from(
    readFileSync(join(ROOT, 'src/panel/locales/es.po'), 'utf8').matchAll(/^msgid "(.+)"\nmsgstr "(.+)"$/gm),
  ).map(([, english, spanish]) => [english, spanish]),
);
/** Color scheme and language of each look. */
const LOOKS = { light: ['light', 'en'], dark: ['dark', 'en'], spanish: ['light', 'es'] };
const WIDTHS = { desk: { width: 1_280, height: 860 }, phone: { width: 390, height: 844 } };

/** Creates members, keys, requests and other data, so that the pages have content. */
async function createContent(demo) {
  const token = readFileSync(join(demo.dataDir, 'admin-token'), 'utf8').trim();
  const send = (path, body, of = { authorization: `Bearer ${token}` }) => {
    const headers = { ...of, 'content-type': 'application/json' };
    return fetch(`${demo.panelUrl}/admin/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  const post = async (path, body, of) => {
    const response = await send(path, body, of);
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const { data } = await fetch(`${demo.panelUrl}/admin/v1/accounts`, {
    headers: { authorization: `Bearer ${token}` },
  }).then((response) => response.json());
  const sessions = {};
  for (const { name, ...invited } of MEMBERS) {
    const { link } = await post(`/accounts/${data[0].id}/invitations`, invited);
    const taken = { token: new URL(link).hash.slice(1), name, password: PASSWORD };
    const response = await send('/links/take', taken, { origin: demo.panelUrl });
    sessions[invited.role] = await sessionOf(response);
  }
  await post(`/accounts/${data[0].id}/invitations`, INVITED, sessions.admin);
  for (const [index, { by, ...key }] of KEYS.entries()) {
    const { id, secret } = await post(`/accounts/${data[0].id}/api-keys`, key, sessions[by]);
    for (let call = 0; call < 30 - index * 8; call++) {
      const path = call % 7 === 3 ? 'customers/cus_unknown' : 'customers?limit=5';
      await fetch(`${demo.gatewayUrl}/api/v1/${path}`, { headers: { authorization: `Bearer ${secret}` } });
    }
    if (key.name === 'Newsletter') await post(`/api-keys/${id}/pause`);
    if (key.name === 'Accounting export') await post(`/api-keys/${id}/rotate`, { overlap_seconds: 604_800 });
  }
  const tokensEnd = new Date(Date.now() + 90 * 86_400_000).toISOString();
  for (const { by, ...token } of TOKENS)
    await post(`/accounts/${data[0].id}/tokens`, { ...token, expires_at: tokensEnd }, sessions[by]);
  for (const assistant of ASSISTANTS) {
    const asked = await fetch(await authorizeUrl(assistant), { redirect: 'manual' });
    const id = asked.headers.get('location').split('/').at(-1);
    const expiresAt = new Date(Date.now() + assistant.days * 86_400_000).toISOString();
    const body = { account_id: data[0].id, scopes: assistant.scopes, expires_at: expiresAt };
    await post(`/authorization-requests/${id}/approval`, body, sessions.owner);
  }
  const endpoints = [];
  for (const endpoint of ENDPOINTS) endpoints.push(await post(`/accounts/${data[0].id}/webhook-endpoints`, endpoint));
  await post(`/webhook-endpoints/${endpoints[0].id}/test`, { type: 'api_key.created' });
  // Afterwards three secrets sign, and the next rotation ends the oldest one.
  for (const overlap of [604_800, 86_400])
    await post(`/webhook-endpoints/${endpoints[1].id}/rotate-secret`, { overlap_seconds: overlap });
}

/** Registers an OAuth client with this name. Returns the URL to which the client sends the browser. */
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

/** Returns the headers for requests in the session that a response has begun. */
async function sessionOf(response) {
  const cookie = response.headers.getSetCookie().map((line) => line.split(';')[0]);
  const { me } = await response.json();
  return { cookie: cookie.join('; '), 'x-csrf-token': me.csrf_token, 'sec-fetch-site': 'same-origin' };
}

/** Writes the configuration of `npm start`, with an authorization server. Returns its path. */
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

/** Returns a button name in a language: the name itself in English, or a pattern of its possible translations. */
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

/** Writes the screenshots for docs/panel.md as WebP, in a fifth of the size. The browser converts them. */
async function writeDocsPictures() {
  const page = await browser.newPage();
  mkdirSync(DOCS, { recursive: true });
  const text = readFileSync(join(ROOT, 'docs/panel.md'), 'utf8');
  const shown = Object.entries(DOCS_PICTURES).filter(([name]) => text.includes(`(panel/${name}.webp)`));
  for (const [name, picture] of shown) {
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
const [demo, browser] = await Promise.all([
  startDemo(undefined, ['--config', configWithOAuth()]),
  startBrowser({ blur: true }),
]);
try {
  await createContent(demo);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  const page = await browser.newPage();
  const shoot = async (name, fullPage = false) => {
    // A page that polls may never become idle on a busy machine.
    await Promise.race([hasRead(page).catch(() => undefined), page.waitForTimeout(LONGEST_WAIT_MS)]);
    await page.screenshot({ path: join(FOLDER, `${name}.png`), fullPage });
  };
  const applyLook = ([scheme, locale]) =>
    page.evaluate(
      `Object.assign(localStorage, { 'trailgate-color-scheme': '${scheme}', 'trailgate-locale': '${locale}' })`,
    );
  /** Calls `take` in every look and width, with the language and a suffix for names of screenshots. */
  const inEveryLook = async (take) => {
    for (const [scheme, settings] of Object.entries(LOOKS)) {
      await applyLook(settings);
      for (const [width, viewport] of Object.entries(WIDTHS)) {
        await page.setViewportSize(viewport);
        await take(settings[1], `${scheme}-${width}`);
      }
    }
  };
  await page.goto(`${demo.panelUrl}/sign-in`);
  await page.getByLabel('Email').waitFor();
  await shoot('sign-in');
  await inEveryLook(async (_locale, suffix) => {
    await page.goto(`${demo.panelUrl}/sign-in`);
    await shoot(`sign-in-${suffix}`);
  });
  await applyLook(LOOKS.light);
  await page.setViewportSize(WIDTHS.desk);
  await page.goto(demo.link);
  await page.getByRole('button', { name: 'Continue to dashboard' }).waitFor();
  await shoot('link');
  await page.getByRole('button', { name: 'Continue to dashboard' }).click();
  await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
  const home = page.url().replace('/api-keys', '');
  await inEveryLook(async (_locale, suffix) => {
    await page.goto(`${home}/api-keys`);
    await page.getByRole('heading').first().waitFor();
    await shoot(`no-password-${suffix}`);
  });
  /** Sends an API request from the open page, in its session. */
  const callApi = (method, path, body) =>
    page.evaluate(`(async () => {
      const { csrf_token: token } = await (await fetch('/admin/v1/me')).json();
      const headers = { 'content-type': 'application/json', 'x-csrf-token': token };
      const body = JSON.stringify(${JSON.stringify(body)});
      const response = await fetch('/admin/v1${path}', { method: '${method}', headers, body });
      if (!response.ok) throw new Error('${path}: ' + (await response.text()));
    })()`);
  await callApi('PUT', '/me/password', { password: PASSWORD });
  await inEveryLook(async (_locale, suffix) => {
    await page.goto(await authorizeUrl(ASSISTANTS[1]));
    await page.getByRole('checkbox').first().waitFor();
    await shoot(`consent-${suffix}`);
    for (const path of PAGES) {
      await page.goto(new URL(path, `${home}/`).href);
      await page.getByRole('heading').first().waitFor();
      const name = `${path.replace(/^\//, '').replaceAll('/', '-')}-${suffix}`;
      await shoot(name);
      // Also the part below the viewport.
      if (!path.endsWith('/new')) await shoot(`whole-${name}`, true);
    }
  });
  // After all pages, because times of last use are written with a delay of seconds.
  await applyLook(LOOKS.light);
  await page.setViewportSize({ width: 1_280, height: 760 });
  await page.goto(`${home}/api-keys`);
  await shoot('readme');
  await page.getByRole('link', { name: 'Booking widget' }).click();
  await page.getByRole('button', { name: 'Rotate key' }).waitFor();
  await shoot('key');
  await page.getByRole('button', { name: 'Rotate key' }).click();
  await shoot('new-secret');
  await page.goto(`${home}/webhooks`);
  await page.getByRole('link', { name: ENDPOINTS[0].url }).click();
  await page.getByRole('button', { name: 'Send test event' }).waitFor();
  await shoot('webhook');
  await page.getByRole('link', { name: 'api_key.created' }).first().click();
  await page.getByRole('button', { name: 'Send again' }).waitFor();
  await shoot('webhook-delivery');
  await writeDocsPictures();
  for (const [scheme, settings] of Object.entries(LOOKS)) {
    await applyLook(settings);
    // A confirmation lasts ten minutes, and the screenshots can take that long.
    await callApi('POST', '/confirmations', { password: PASSWORD });
    const t = (english) => buttonIn(settings[1], english);
    /** Takes a screenshot at every width. A dialog stays open while the viewport changes. */
    const shootWidths = async (name) => {
      for (const [width, viewport] of Object.entries(WIDTHS)) {
        await page.setViewportSize(viewport);
        await shoot(`${name}-${scheme}-${width}`);
      }
      await page.setViewportSize(WIDTHS.desk);
    };
    await page.setViewportSize(WIDTHS.desk);
    for (const [[path, link], name] of DIALOGS) {
      await page.goto(new URL(path, `${home}/`).href);
      if (link !== undefined) await page.getByRole('link', { name: link }).first().click();
      await page
        .getByRole('main')
        .getByRole('button', { name: t(name), exact: true })
        .first()
        .click();
      await page.getByRole('dialog').waitFor();
      const called = [path, link, name]
        .filter(Boolean)
        .join('-')
        .replaceAll(/[^A-Za-z-]+/g, '-')
        .toLowerCase();
      await shootWidths(`dialog-${called}`);
    }
    await shootScenes({ page, home, site: demo.panelUrl, t, shoot: shootWidths });
  }
  await shootEdges({ page, demo, insertKeys, applyLook, shoot, widths: WIDTHS });
  console.log(`Screenshots: ${FOLDER}`);
} finally {
  await browser.close();
  await demo.stop();
  rmSync(process.env.TMPDIR, { recursive: true, force: true });
}
