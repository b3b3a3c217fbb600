/** Lists every form of the panel with its source file, its API operation, and how to open and submit it. */
import type { Locator, Page } from 'playwright-core';
import { goWithin } from './browser.js';
import { PUBLIC_URL } from './webhook-endpoints.js';

const PASSWORD = 'several unrelated words';

/** FormCase describes one form of the panel. */
export interface FormCase {
  /** Source file of the form, relative to `src/panel/`. */
  readonly file: string;
  /** `operationId` of the request that the form sends. */
  readonly operation: string;
  /** Opens the form and fills in what it needs. */
  readonly open: (page: Page, at: At) => Promise<void>;
  /** Submits the form. */
  readonly send: (page: Page) => Promise<void>;
  /** The form needs its own page, because `open` replaces API responses and the panel keeps such data. */
  readonly isLoaded?: true;
  /** The form needs a browser context in which no one is signed in. */
  readonly isSignedOut?: true;
}

/** URLs of pages. The test fills them in. */
export interface At {
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

export const FORMS: readonly FormCase[] = [
  {
    file: 'api-keys/create-form.tsx',
    operation: 'createApiKey',
    open: (page, at) => goWithin(page, `${at.account}/api-keys/new?name=Shop&scopes=customers:read`),
    send: (page) => inDialog(page, 'Create key'),
  },
  {
    file: 'api-keys/create-form.tsx',
    operation: 'createApiKey',
    async open(page, at) {
      await goWithin(page, `${at.account}/assistants/new`);
      await dialog(page).getByLabel('Name', { exact: true }).fill('Assistant');
      await page.locator('input[type=checkbox][value="customers:read"]').check();
    },
    send: (page) => inDialog(page, 'Create key'),
  },
  {
    file: 'layout/edit-dialog.tsx',
    operation: 'updateApiKey',
    async open(page, at) {
      await goWithin(page, at.key);
      await press(page, 'Edit');
      await dialog(page).getByLabel('Name', { exact: true }).fill('Other');
    },
    send: (page) => inDialog(page, 'Save'),
  },
  {
    file: 'api-keys/rotate-dialog.tsx',
    operation: 'rotateApiKey',
    async open(page, at) {
      await goWithin(page, at.key);
      await press(page, 'Rotate key');
    },
    send: (page) => inDialog(page, 'Create new secret'),
  },
  {
    file: 'webhooks/create-dialog.tsx',
    operation: 'createWebhookEndpoint',
    async open(page, at) {
      await goWithin(page, `${at.account}/webhooks/new`);
      await dialog(page).getByLabel('URL').fill(PUBLIC_URL);
    },
    send: (page) => inDialog(page, 'Add endpoint'),
  },
  {
    file: 'layout/edit-dialog.tsx',
    operation: 'updateWebhookEndpoint',
    async open(page, at) {
      await goWithin(page, at.endpoint);
      await press(page, 'Edit');
      await dialog(page).getByLabel('Description').fill('Other');
    },
    send: (page) => inDialog(page, 'Save'),
  },
  {
    file: 'webhooks/rotate-dialog.tsx',
    operation: 'rotateWebhookSecret',
    async open(page, at) {
      await goWithin(page, at.endpoint);
      await press(page, 'Rotate secret');
    },
    send: (page) => inDialog(page, 'Create new secret'),
  },
  {
    file: 'webhooks/enable-dialog.tsx',
    operation: 'updateWebhookEndpoint',
    isLoaded: true,
    async open(page, at) {
      await page.route('**/admin/v1/webhook-endpoints/whe_*', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...((await response.json()) as object), status: 'paused' } });
      });
      await page.goto(at.endpoint);
      await press(page, 'Resume');
    },
    send: (page) => inDialog(page, 'Resume'),
  },
  {
    file: 'webhooks/replay-dialog.tsx',
    operation: 'replayWebhookDeliveries',
    async open(page, at) {
      await goWithin(page, at.endpoint);
      await press(page, 'Resend events');
    },
    send: (page) => inDialog(page, 'Send again'),
  },
  {
    file: 'webhooks/test-dialog.tsx',
    operation: 'testWebhookEndpoint',
    async open(page, at) {
      await goWithin(page, at.endpoint);
      await press(page, 'Send test event');
    },
    send: (page) => inDialog(page, 'Send'),
  },
  {
    file: 'access-tokens/create-dialog.tsx',
    operation: 'createAccountToken',
    async open(page, at) {
      await goWithin(page, `${at.account}/access-tokens/new`);
      await dialog(page).getByLabel('Name', { exact: true }).fill('Deployment');
    },
    send: (page) => inDialog(page, 'Create token'),
  },
  {
    file: 'members/resend-dialog.tsx',
    operation: 'resendInvitation',
    isLoaded: true,
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
      await goWithin(page, `${at.account}/members`);
      await press(page, 'Invite member');
      await dialog(page).getByLabel('Email').fill('a@b');
    },
    send: (page) => inDialog(page, 'Invite'),
  },
  {
    file: 'explain/explain-page.tsx',
    operation: 'explain',
    async open(page, at) {
      await goWithin(page, `${at.account}/explain`);
      await choose(page, page.getByRole('main'), 'Key');
      await choose(page, page.getByRole('main'), 'Operation');
      await page.getByLabel('Source IP').fill('not an ip');
    },
    send: (page) => press(page, 'Explain'),
  },
  {
    file: 'platform/account-dialog.tsx',
    operation: 'createAccount',
    async open(page, at) {
      await goWithin(page, `${at.site}/platform/accounts`);
      await press(page, 'Create account');
      await dialog(page).getByLabel('Name', { exact: true }).fill('Isar Rafting');
      await choose(page, dialog(page), 'Plan');
    },
    send: (page) => inDialog(page, 'Create account'),
  },
  {
    file: 'platform/account-dialog.tsx',
    operation: 'updateAccount',
    async open(page, at) {
      await goWithin(page, `${at.account}/account`);
      await press(page, 'Edit');
      await dialog(page).getByLabel('Name', { exact: true }).fill('Other');
    },
    send: (page) => inDialog(page, 'Save'),
  },
  {
    file: 'platform/delete-account-dialog.tsx',
    operation: 'deleteAccount',
    async open(page, at) {
      await goWithin(page, `${at.account}/account`);
      await press(page, 'Delete');
      const label = await dialog(page)
        .getByText(/^Type .+ to confirm/)
        .textContent();
      const name = (label ?? '').replace(/^Type /, '').replace(/ to confirm\.$/, '');
      await dialog(page)
        .getByLabel('Name of the account')
        .fill(name.replaceAll(/[\u2066-\u2069]/g, ''));
    },
    send: (page) => inDialog(page, 'Delete account'),
  },
  {
    file: 'platform/adjustment-dialog.tsx',
    operation: 'createQuotaAdjustment',
    async open(page, at) {
      await goWithin(page, `${at.site}/platform/adjustments`);
      await press(page, 'Adjust usage');
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
      await goWithin(page, `${at.site}/profile`);
      await page.getByLabel('Name', { exact: true }).fill('Ana\tBauer');
    },
    send: (page) => page.getByRole('region', { name: 'About you' }).getByRole('button', { name: 'Save' }).click(),
  },
  {
    file: 'profile/password.tsx',
    operation: 'changePassword',
    async open(page, at) {
      await goWithin(page, `${at.site}/profile`);
      await press(page, 'Change password');
      await dialog(page).getByLabel('New password').fill(PASSWORD);
      await dialog(page).getByLabel('Confirm password').fill(PASSWORD);
    },
    send: (page) => inDialog(page, 'Save'),
  },
  {
    file: 'profile/passkeys.tsx',
    operation: 'renamePasskey',
    isLoaded: true,
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
      await goWithin(page, `${at.site}/profile`);
      await page.getByRole('region', { name: 'Authenticator app' }).getByRole('button', { name: 'Set up' }).click();
      await dialog(page).getByLabel('Code from your authenticator app').fill('123456');
    },
    async send(page) {
      // The panel clears the field after a refused code.
      await dialog(page).getByLabel('Code from your authenticator app').fill('123456');
      await inDialog(page, 'Continue');
    },
  },
  {
    file: 'session/confirm-form.tsx',
    operation: 'confirm',
    isLoaded: true,
    async open(page, at) {
      const wanted = { code: 'confirmation_required', confirm_with: ['password'] };
      await page.route('**/admin/v1/me/password', (route) => route.fulfill({ status: 403, json: wanted }));
      await page.goto(`${at.site}/profile`);
      await press(page, 'Change password');
      await dialog(page).getByLabel('New password').fill(PASSWORD);
      await dialog(page).getByLabel('Confirm password').fill(PASSWORD);
      await inDialog(page, 'Save');
      await page.getByRole('dialog', { name: "Confirm it's you" }).waitFor();
    },
    async send(page) {
      const gate = page.getByRole('dialog', { name: "Confirm it's you" });
      await gate.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await gate.getByRole('button', { name: 'Continue' }).click();
    },
  },
  {
    file: 'oauth/consent-page.tsx',
    operation: 'approveAuthorizationRequest',
    isLoaded: true,
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
    send: (page) => page.getByRole('button', { name: 'Authorize' }).click(),
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
    send: (page) => page.getByRole('button', { name: 'Continue' }).click(),
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
      await page.getByRole('button', { name: 'Continue' }).click();
    },
  },
];
