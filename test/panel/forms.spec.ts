/**
 * Every form of the panel shows the reason of every refusal, in the viewport: at its field, or in the error box. Each
 * form is opened in a real browser, its request is caught, and answered with each 422 that its operation can give.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';
import type { Locator, Page, Route } from 'playwright-core';
import { newSecretsKey } from '../../src/platform/secrets/secret-box.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { hasRead, startBrowser, STILL, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { newOperator, panelUrlOf, signInThere } from '../support/panel-people.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { PUBLIC_URL } from '../support/webhook-endpoints.js';

/** Low enough that long forms do not fit. */
const WINDOW = { width: 1_280, height: 640 };
/** Without a tool there is no key for an assistant to make. */
const CONFIG = {
  operations: [{ match: 'GET /customers', mcp: { description: 'Lists the customers.', destructive: false } }],
};
const PASSWORD = 'several unrelated words';

/** One form: where it is, what it asks for, how it is opened and sent. */
interface FormCase {
  /** The file with the form, below `src/panel/`. */
  readonly file: string;
  readonly operation: string;
  /** Opens it and fills in what it needs. */
  readonly open: (page: Page, at: At) => Promise<void>;
  /** Presses what sends it. */
  readonly send: (page: Page) => Promise<void>;
  /** In a browser in which nobody is signed in. */
  readonly isSignedOut?: true;
}

/** Addresses of pages, which the world fills in. */
interface At {
  readonly site: string;
  readonly account: string;
  readonly key: string;
  readonly endpoint: string;
}

const dialog = (page: Page): Locator => page.getByRole('dialog').last();
const inDialog = (page: Page, name: string): Promise<void> =>
  dialog(page).getByRole('button', { name, exact: true }).click();
const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('main').getByRole('button', { name, exact: true }).click();
const answer = async (page: Page, path: string, body: object): Promise<void> =>
  void (await page.route(path, (route) => route.fulfill({ json: body })));
const choose = async (page: Page, within: Locator, label: string): Promise<void> => {
  await within.getByRole('combobox', { name: label }).click();
  await page.getByRole('option').first().click();
};

const FORMS: readonly FormCase[] = [
  {
    file: 'api-keys/create-form.tsx',
    operation: 'createApiKey',
    open: async (page, at) => void (await page.goto(`${at.account}/api-keys/new?name=Shop&scopes=customers:read`)),
    send: (page) => inDialog(page, 'Create key'),
  },
  {
    file: 'api-keys/create-form.tsx',
    operation: 'createApiKey',
    async open(page, at) {
      await page.goto(`${at.account}/assistants/new`);
      await dialog(page).getByLabel('Name', { exact: true }).fill('Assistant');
      await page.locator('input[type=checkbox][value="customers:read"]').check();
    },
    send: (page) => inDialog(page, 'Create key'),
  },
  {
    file: 'api-keys/edit-dialog.tsx',
    operation: 'updateApiKey',
    async open(page, at) {
      await page.goto(at.key);
      await press(page, 'Change');
      await dialog(page).getByLabel('Name', { exact: true }).fill('Other');
    },
    send: (page) => inDialog(page, 'Save'),
  },
  {
    file: 'api-keys/rotate-dialog.tsx',
    operation: 'rotateApiKey',
    async open(page, at) {
      await page.goto(at.key);
      await press(page, 'New secret');
    },
    send: (page) => inDialog(page, 'Make a new secret'),
  },
  {
    file: 'webhooks/create-dialog.tsx',
    operation: 'createWebhookEndpoint',
    async open(page, at) {
      await page.goto(`${at.account}/webhooks/new`);
      await dialog(page).getByLabel('URL').fill(PUBLIC_URL);
    },
    send: (page) => inDialog(page, 'Add endpoint'),
  },
  {
    file: 'webhooks/edit-dialog.tsx',
    operation: 'updateWebhookEndpoint',
    async open(page, at) {
      await page.goto(at.endpoint);
      await press(page, 'Change');
      await dialog(page).getByLabel('Description').fill('Other');
    },
    send: (page) => inDialog(page, 'Save'),
  },
  {
    file: 'webhooks/rotate-dialog.tsx',
    operation: 'rotateWebhookSecret',
    async open(page, at) {
      await page.goto(at.endpoint);
      await press(page, 'New secret');
    },
    send: (page) => inDialog(page, 'Make a new secret'),
  },
  {
    file: 'webhooks/enable-dialog.tsx',
    operation: 'updateWebhookEndpoint',
    async open(page, at) {
      await page.route('**/admin/v1/webhook-endpoints/whe_*', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...((await response.json()) as object), status: 'paused' } });
      });
      await page.goto(at.endpoint);
      await press(page, 'Let it go on');
    },
    send: (page) => inDialog(page, 'Let it go on'),
  },
  {
    file: 'webhooks/replay-dialog.tsx',
    operation: 'replayWebhookDeliveries',
    async open(page, at) {
      await page.goto(at.endpoint);
      await press(page, 'Send many again');
    },
    send: (page) => inDialog(page, 'Send again'),
  },
  {
    file: 'webhooks/test-dialog.tsx',
    operation: 'testWebhookEndpoint',
    async open(page, at) {
      await page.goto(at.endpoint);
      await press(page, 'Send a test');
    },
    send: (page) => inDialog(page, 'Send'),
  },
  {
    file: 'access-tokens/create-dialog.tsx',
    operation: 'createAccountToken',
    async open(page, at) {
      await page.goto(`${at.account}/access-tokens/new`);
      await dialog(page).getByLabel('Name', { exact: true }).fill('Deployment');
    },
    send: (page) => inDialog(page, 'Create token'),
  },
  {
    file: 'members/resend-dialog.tsx',
    operation: 'resendInvitation',
    async open(page, at) {
      const invitation = { id: 'inv_1', email: 'ana@example.com', role: 'viewer', status: 'open', invited_by: null };
      const times = { created_at: '2026-01-01T00:00:00Z', expires_at: '2099-01-01T00:00:00Z' };
      const list = { data: [{ ...invitation, ...times }], has_more: false, next_cursor: null };
      await answer(page, '**/admin/v1/accounts/*/invitations?*', list);
      await page.goto(`${at.account}/members`);
      await page.getByRole('button', { name: 'Resend the invitation of ana@example.com' }).click();
    },
    send: (page) => inDialog(page, 'Resend'),
  },
  {
    file: 'members/invite-dialog.tsx',
    operation: 'createInvitation',
    async open(page, at) {
      await page.goto(`${at.account}/members`);
      await press(page, 'Invite somebody');
      await dialog(page).getByLabel('Email').fill('a@b');
    },
    send: (page) => inDialog(page, 'Invite'),
  },
  {
    file: 'explain/explain-page.tsx',
    operation: 'explain',
    async open(page, at) {
      await page.goto(`${at.account}/explain`);
      await choose(page, page.getByRole('main'), 'Key');
      await choose(page, page.getByRole('main'), 'What it asks for');
      await page.getByLabel('From this address').fill('not an ip');
    },
    send: (page) => press(page, 'Explain'),
  },
  {
    file: 'platform/account-dialog.tsx',
    operation: 'createAccount',
    async open(page, at) {
      await page.goto(`${at.site}/platform/accounts`);
      await press(page, 'Create an account');
      await dialog(page).getByLabel('Name', { exact: true }).fill('Isar Rafting');
      await choose(page, dialog(page), 'Plan');
    },
    send: (page) => inDialog(page, 'Create account'),
  },
  {
    file: 'platform/account-dialog.tsx',
    operation: 'updateAccount',
    async open(page, at) {
      await page.goto(`${at.account}/account`);
      await press(page, 'Change');
      await dialog(page).getByLabel('Name', { exact: true }).fill('Other');
    },
    send: (page) => inDialog(page, 'Save'),
  },
  {
    file: 'platform/adjustment-dialog.tsx',
    operation: 'createQuotaAdjustment',
    async open(page, at) {
      await page.goto(`${at.site}/platform/adjustments`);
      await press(page, 'Adjust a month');
      await choose(page, dialog(page), 'Account');
      await dialog(page).getByLabel('Additional requests').fill('5');
      await dialog(page).getByLabel('Reason').fill('Trade fair');
    },
    async send(page) {
      await inDialog(page, 'Continue');
      await inDialog(page, 'Adjust usage');
    },
  },
  {
    file: 'profile/personal.tsx',
    operation: 'updateMe',
    async open(page, at) {
      await page.goto(`${at.site}/profile`);
      await page.getByLabel('Name', { exact: true }).fill('Ana\tBauer');
    },
    send: (page) => page.getByRole('region', { name: 'About you' }).getByRole('button', { name: 'Save' }).click(),
  },
  {
    file: 'profile/password.tsx',
    operation: 'changePassword',
    async open(page, at) {
      await page.goto(`${at.site}/profile`);
      await press(page, 'Change the password');
      await dialog(page).getByLabel('New password').fill(PASSWORD);
      await dialog(page).getByLabel('Once more').fill(PASSWORD);
    },
    send: (page) => inDialog(page, 'Save'),
  },
  {
    file: 'profile/passkeys.tsx',
    operation: 'renamePasskey',
    async open(page, at) {
      const passkey = { id: 'psk_1', name: 'Phone', backed_up: false, created_at: '2026-01-01T00:00:00Z' };
      const list = { data: [{ ...passkey, last_used_at: null }], has_more: false, next_cursor: null };
      await answer(page, '**/admin/v1/me/passkeys', list);
      await page.goto(`${at.site}/profile`);
      await page.getByRole('button', { name: 'Rename Phone' }).click();
    },
    send: (page) => inDialog(page, 'Save'),
  },
  {
    file: 'profile/set-up-dialog.tsx',
    operation: 'confirmTotp',
    async open(page, at) {
      await page.goto(`${at.site}/profile`);
      await page.getByRole('region', { name: 'Authenticator app' }).getByRole('button', { name: 'Set up' }).click();
      await dialog(page).getByLabel('Code from your authenticator app').fill('123456');
    },
    async send(page) {
      // A refused code is taken out of its field.
      await dialog(page).getByLabel('Code from your authenticator app').fill('123456');
      await inDialog(page, 'Go on');
    },
  },
  {
    file: 'session/confirm-form.tsx',
    operation: 'confirm',
    async open(page, at) {
      const wanted = { code: 'confirmation_required', confirm_with: ['password'] };
      await page.route('**/admin/v1/me/password', (route) => route.fulfill({ status: 403, json: wanted }));
      await page.goto(`${at.site}/profile`);
      await press(page, 'Change the password');
      await dialog(page).getByLabel('New password').fill(PASSWORD);
      await dialog(page).getByLabel('Once more').fill(PASSWORD);
      await inDialog(page, 'Save');
      await page.getByRole('dialog', { name: 'Is it you?' }).waitFor();
    },
    async send(page) {
      const gate = page.getByRole('dialog', { name: 'Is it you?' });
      await gate.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await gate.getByRole('button', { name: 'Go on' }).click();
    },
  },
  {
    file: 'oauth/consent-page.tsx',
    operation: 'approveAuthorizationRequest',
    async open(page, at) {
      await answer(page, '**/admin/v1/authorization-requests/asked', {
        client_id: 'https://claude.ai/client',
        client_name: 'Claude',
        client_host: 'claude.ai',
        redirect_host: 'claude.ai',
        scopes: ['customers:read'],
        longest_access_days: 30,
      });
      await page.goto(`${at.site}/oauth/asked`);
      const account = page.getByRole('combobox', { name: 'Account' });
      await account.click();
      await page.getByRole('option').first().click();
    },
    send: (page) => page.getByRole('button', { name: 'Let it in' }).click(),
  },
  {
    file: 'session/link-page.tsx',
    operation: 'takeLink',
    isSignedOut: true,
    async open(page, at) {
      const link = {
        kind: 'first_owner',
        account_name: null,
        email: null,
        role: null,
        ways: ['password'],
        factors: [],
      };
      await answer(page, '**/admin/v1/links/read', { ...link, expires_at: '2027-01-01T00:00:00Z' });
      await page.goto(`${at.site}/link#token`);
      await page.getByLabel('Email').fill('ana@example.com');
      await page.getByLabel('Your name').fill('Ana');
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    },
    send: (page) => page.getByRole('button', { name: 'Begin' }).click(),
  },
  {
    file: 'session/sign-in-form.tsx',
    operation: 'signInWithPassword',
    isSignedOut: true,
    async open(page, at) {
      await page.goto(`${at.site}/sign-in`);
      await page.getByLabel('Email').fill('ana@example.com');
    },
    async send(page) {
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    },
  },
  {
    file: 'session/second-factor-form.tsx',
    operation: 'signInWithSecondFactor',
    isSignedOut: true,
    async open(page, at) {
      await answer(page, '**/admin/v1/sign-in/password', { state: 'second_factor', ways: ['totp'] });
      await page.goto(`${at.site}/sign-in`);
      await page.getByLabel('Email').fill('ana@example.com');
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    },
    async send(page) {
      await page.getByLabel('Code from your authenticator app').fill('123456');
      await page.getByRole('button', { name: 'Go on' }).click();
    },
  },
];

const sourceOf = (file: string): string => readFileSync(`src/panel/${file}`, 'utf8');
const SOURCES = globSync('**/*.tsx', { cwd: 'src/panel' }).toSorted();

describe('the sources of the panel', () => {
  it('have one form component, and each form made of it stands in this test', () => {
    const own = ['layout/form.tsx', 'layout/dialog-form.tsx'];
    const forms = SOURCES.filter((file) => !own.includes(file) && /<(?:Dialog)?Form\b/.test(sourceOf(file)));
    expect(forms).toEqual([...new Set(FORMS.map(({ file }) => file))].toSorted());
    expect(SOURCES.filter((file) => /<form\b/.test(sourceOf(file)))).toEqual(['layout/form.tsx']);
  });

  it('have no number field that changes what was typed', () => {
    expect(SOURCES.filter((file) => /\bNumberInput\b|clampBehavior/.test(sourceOf(file)))).toEqual([]);
  });
});

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Every field of a body that a 422 can name, and the body as a whole. Entries of lists stand for their list. */
function pointersOf(schema: Schema, document: OpenApi, at = '#'): string[] {
  if (schema.$ref !== undefined) {
    const named = document.components.schemas[schema.$ref.split('/').at(-1) ?? ''];
    return named === undefined ? [at] : pointersOf(named, document, at);
  }
  const inner = [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, each]) => pointersOf(each, document, `${at}/${name}`)),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].flatMap((each) =>
      pointersOf(each, document, at),
    ),
  ];
  return [...new Set([schema.items === undefined ? at : `${at}/0`, ...inner])];
}

/** Whether a text can be seen: all of it within the window, and nothing over it. */
async function isSeen(page: Page, text: Locator): Promise<boolean> {
  const box = await text.boundingBox();
  if (box === null || box.y < 0 || box.y + box.height > WINDOW.height) return false;
  const middle = `${box.x + box.width / 2}, ${box.y + box.height / 2}`;
  const there = await page.evaluate<string>(`document.elementFromPoint(${middle})?.textContent ?? ''`);
  return there.includes((await text.textContent()) ?? '');
}

describeWithChromium('a form', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;
  let browser: Browser;
  let document: OpenApi;
  let at: At;

  beforeAll(async () => {
    backend = await startBackend(json({ data: [] }));
    [trailgate, browser] = await Promise.all([
      startTrailgate({ backend: backend.url, config: CONFIG, env: { TRAILGATE_SECRETS_KEY: newSecretsKey() } }),
      startBrowser({ ...STILL, viewport: WINDOW }),
    ]);
    const { admin } = trailgate;
    const account = await admin.createAccount({ name: 'Isar Rafting' });
    const key = await admin.createKey(account.id, { name: 'Shop', scopes: ['customers:read'] });
    const endpoints = `/accounts/${account.id}/webhook-endpoints`;
    const endpoint = await admin.call<{ id: string }>('POST', endpoints, { url: PUBLIC_URL });
    document = await admin.call<OpenApi>('GET', '/openapi.json');
    const site = panelUrlOf(trailgate);
    const home = `${site}/${account.id}`;
    at = {
      site,
      account: home,
      key: `${home}/api-keys/${key.id}`,
      endpoint: `${home}/webhooks/${endpoint.id}`,
    };
    await signInThere(browser.context, await newOperator(trailgate), site);
  });
  afterAll(async () => {
    await browser?.close();
    await trailgate?.stop();
    await backend?.stop();
  });

  const operationOf = (id: string) => {
    for (const [path, operations] of Object.entries(document.paths)) {
      const found = Object.entries(operations).find(([, { operationId }]) => operationId === id);
      if (found !== undefined) return { path, method: found[0].toUpperCase(), operation: found[1] };
    }
    throw new Error(`there is no operation ${id}`);
  };

  it.each(FORMS)(
    'of $file shows every reason for which $operation refuses it',
    async (form) => {
      const context = form.isSignedOut === true ? await browser.newContext() : browser.context;
      const page = await context.newPage();
      await page.setViewportSize(WINDOW);
      page.setDefaultTimeout(20_000);
      await form.open(page, at);
      await hasRead(page);
      const { path, method, operation } = operationOf(form.operation);
      let body: object = {};
      const refuse = (route: Route): Promise<void> =>
        route.request().method() === method
          ? route.fulfill({ status: 422, contentType: 'application/problem+json', json: body })
          : route.fallback();
      await page.route(`**${path.replaceAll(/\{\w+\}/g, '*')}`, refuse);
      const schema = operation.requestBody?.content['application/json']?.schema ?? {};
      const refusals = pointersOf(schema, document).map((pointer, index) => ({
        reason: `refused for reason ${index}`,
        detail: 'Some fields are not valid.',
        errors: [{ pointer, detail: `refused for reason ${index}` }],
      }));
      const whole = { reason: 'refused as a whole', detail: 'refused as a whole', errors: [] };
      for (const { reason, ...refusal } of [...refusals, whole]) {
        body = { status: 422, code: 'validation_failed', title: 'Refused', ...refusal };
        await form.send(page);
        const said = page.getByText(reason).last();
        await said.waitFor();
        const about = JSON.stringify(refusal.errors);
        await eventually(`the reason of ${about} is in sight`, () => isSeen(page, said));
      }
      if (form.isSignedOut === true) await context.close();
      else await page.close();
    },
    120_000,
  );

  it('threw nothing', () => {
    expect(browser.faults).toEqual([]);
  });
});
