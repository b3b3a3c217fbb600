/** Takes screenshots of edge cases: an empty account, and one with over 2,000 keys and very long names. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const MANY_KEYS = 2_000;
const EMPTY_ACCOUNT = 'Nothing yet';
/** Unusual names: a long word, many words, and right-to-left text. */
const LONG_WORD = 'Wildwasserrafting-Buchungssystem-'.repeat(5).slice(0, 160);
const LONG_WORDS = 'The booking page of the partner in Innsbruck, with its mirror and whatever else there is '
  .repeat(2)
  .trim();
const RIGHT_TO_LEFT = 'وكيل الحجز للرحلات النهرية';
const LONG_URL = `https://${'a-very-long-name.'.repeat(5)}example.com/webhooks/customers?source=trailgate&tenant=innsbruck`;
const PAGES = ['api-keys', 'usage', 'logs', 'webhooks', 'assistants', 'explain', 'audit-log', 'members', 'account'];
/** Color scheme, language, width. */
const LOOKS = [
  ['light', 'en', 'desk'],
  ['dark', 'es', 'phone'],
];

/** Creates the two accounts. @returns the IDs of both, and of a key with a long name. */
async function createAccounts(demo, insertKeys) {
  const token = readFileSync(join(demo.dataDir, 'admin-token'), 'utf8').trim();
  const post = async (path, body) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${demo.panelUrl}/admin/v1${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const empty = await post('/accounts', { name: EMPTY_ACCOUNT, plan: 'starter' });
  const full = await post('/accounts', { name: LONG_WORDS, plan: 'starter' });
  const keys = [];
  for (const name of [LONG_WORD, LONG_WORDS, RIGHT_TO_LEFT]) {
    const scopes = ['customers:read', 'customers:write'];
    keys.push(await post(`/accounts/${full.id}/api-keys`, { name, scopes }));
  }
  insertKeys(demo.dataDir, keys[0].id, MANY_KEYS);
  for (const { secret } of keys) {
    const headers = { authorization: `Bearer ${secret}` };
    for (const path of ['customers', 'customers/cus_unknown'])
      await fetch(`${demo.gatewayUrl}/api/v1/${path}`, { headers });
  }
  const email = `${'somebody-with-a-long-address.'.repeat(2)}ana@outdoor-experiences.example.com`;
  await post(`/accounts/${full.id}/invitations`, { email, role: 'admin' });
  const { link } = await post(`/accounts/${full.id}/invitations`, { email: 'long@example.com', role: 'owner' });
  const taken = { token: new URL(link).hash.slice(1), name: LONG_WORD, password: 'seven small otters row upstream' };
  await fetch(`${demo.panelUrl}/admin/v1/links/take`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: demo.panelUrl },
    body: JSON.stringify(taken),
  });
  await post(`/accounts/${full.id}/webhook-endpoints`, { url: LONG_URL, description: LONG_WORDS });
  return { empty: empty.id, full: full.id, key: keys[0].id };
}

/** Takes the screenshots. @param widths sizes of the viewport, by name. */
export async function shootEdges({ page, demo, insertKeys, applyLook, shoot, widths }) {
  const made = await createAccounts(demo, insertKeys);
  for (const [scheme, locale, width] of LOOKS) {
    await applyLook([scheme, locale]);
    await page.setViewportSize(widths[width]);
    const open = async (name, path) => {
      await page.goto(`${demo.panelUrl}/${path}`);
      await page.getByRole('heading').first().waitFor();
      await shoot(`edge-${name}-${scheme}-${width}`, true);
    };
    for (const path of PAGES) {
      await open(`empty-${path}`, `${made.empty}/${path}`);
      await open(`full-${path}`, `${made.full}/${path}`);
    }
    await open('full-key', `${made.full}/api-keys/${made.key}`);
    await open('full-accounts', 'platform/accounts');
    await page.goto(`${demo.panelUrl}/${made.full}/webhooks`);
    await page.getByRole('link', { name: LONG_URL }).click();
    await shoot(`edge-full-webhook-${scheme}-${width}`, true);
  }
}
