/** Takes screenshots of dialogs and pages that need several clicks, or API responses that the demo does not send. */
const TOKEN_SECRET = 'tga_EXAMPLE_5Zr8Wq2Xn7Kd4Vb9Lm3Tc6Yp';
const RECOVERY_CODES = Array.from({ length: 10 }, (_, index) => `k7m${index}-w4x${9 - index}-p2qf`);
const PASSWORD = 'nine quiet herons wade downstream';
const ADDED = '2026-10-12T08:30:00Z';
const LINK = { account_name: null, email: 'ana.gruber@example.com', role: null, factors: [] };
const FACTORS = [
  { type: 'passkey', name: 'Firefox on Linux', issuer: null, last_used_at: '2026-11-20T17:05:00Z', is_removed: true },
  { type: 'identity', name: 'ana@gruber.example', issuer: 'https://login.example.com', is_removed: true },
  { type: 'totp', name: '', issuer: null, is_removed: false },
];

/**
 * Scenes by name. Each opens its dialog or page. A scene may return a function that restores the page, so that the next
 * scene can start.
 */
const SCENES = {
  async 'member-role'({ open, page, t, dialog }) {
    await open('members');
    await page.getByRole('combobox', { name: t('Role of Benedikt Moser') }).click();
    await page.getByRole('option', { name: t('Viewer') }).click();
    await dialog().waitFor();
  },
  async adjustment({ open, page, t, press, dialog, pressInDialog }) {
    await open('/platform/adjustments');
    await press('Adjust usage');
    await dialog()
      .getByRole('combobox', { name: t('Account') })
      .click();
    await page.getByRole('option').first().click();
    await dialog().getByLabel(t('Additional requests')).fill('500');
    await dialog().getByLabel(t('Reason')).fill('Trade fair weekend');
    await pressInDialog('Continue');
  },
  async 'pause-undo'({ open, page, t, press, dialog, pressInDialog }) {
    await open('api-keys');
    await page.getByRole('link', { name: 'Test rig of the agency' }).first().click();
    await press('Pause');
    await pressInDialog('Pause key');
    await dialog().waitFor({ state: 'detached' });
    const undo = page.getByRole('button', { name: t('Undo') });
    await undo.waitFor();
    return async () => {
      await undo.click();
      await undo.waitFor({ state: 'detached' });
    };
  },
  async 'form-errors'({ open, pressInDialog }) {
    await open('api-keys/new');
    await pressInDialog('Create key');
  },
  async 'access-token-secret'({ open, stub, page, t, dialog, pressInDialog }) {
    await stub('POST', '**/admin/v1/accounts/*/tokens', { name: 'Deployment', secret: TOKEN_SECRET });
    await open('access-tokens/new');
    await dialog().getByLabel(t('Name')).fill('Deployment');
    await pressInDialog('Create token');
    await dialog().getByText(TOKEN_SECRET, { exact: true }).waitFor();
    return async () => {
      await page.keyboard.press('Escape');
      await pressInDialog('Close anyway');
      await dialog().waitFor({ state: 'detached' });
    };
  },
  async 'recovery-codes-guard'({ open, stub, page, t, press, dialog, pressInDialog }) {
    await stub('POST', '**/admin/v1/me/totp/confirm', { recovery_codes: RECOVERY_CODES });
    await open('/profile');
    await press('Set up');
    await dialog().getByLabel(t('Code from your authenticator app')).fill('123456');
    await pressInDialog('Continue');
    await dialog().getByText(RECOVERY_CODES[0]).waitFor();
    await page.keyboard.press('Escape');
    await dialog().getByRole('alert').waitFor();
    return async () => {
      await pressInDialog('Close anyway');
      await dialog().waitFor({ state: 'detached' });
    };
  },
  async confirmation({ open, stub, page, t, press, dialog, pressInDialog }) {
    const wanted = { code: 'confirmation_required', confirm_with: ['password_and_code', 'passkey'] };
    await stub('PUT', '**/admin/v1/me/password', wanted, 403);
    await open('/profile');
    await press('Change password');
    await dialog().getByLabel(t('New password')).fill(PASSWORD);
    await dialog().getByLabel(t('Confirm password')).fill(PASSWORD);
    await pressInDialog('Save');
    await page.getByRole('dialog', { name: t("Confirm it's you") }).waitFor();
  },
  async 'link-password'({ openLink }) {
    const factors = FACTORS.map((factor) => ({ created_at: ADDED, last_used_at: null, ...factor }));
    await openLink({ ...LINK, kind: 'password_reset', ways: ['password'], factors });
  },
  async 'link-invitation'({ openLink }) {
    await openLink({ ...LINK, kind: 'invitation', account_name: 'Isar Rafting', role: 'admin', ways: ['password'] });
  },
};

/**
 * Takes the screenshots in the current look.
 * @param t translates the name of a button or label to the language of the look.
 * @param shoot takes a screenshot with the given name.
 */
export async function shootScenes({ page, home, site, t, shoot }) {
  const dialog = () => page.getByRole('dialog').last();
  const tools = {
    page,
    t,
    dialog,
    open: (path) => page.goto(new URL(path, `${home}/`).href),
    press: (name) =>
      page
        .getByRole('main')
        .getByRole('button', { name: t(name), exact: true })
        .click(),
    pressInDialog: (name) =>
      dialog()
        .getByRole('button', { name: t(name), exact: true })
        .click(),
    stub: (method, path, json, status = 200) =>
      page.route(path, (route) =>
        route.request().method() === method ? route.fulfill({ status, json }) : route.fallback(),
      ),
    async openLink(link) {
      await tools.stub('POST', '**/admin/v1/links/read', { ...link, expires_at: '2027-01-01T00:00:00Z' });
      // A URL that differs only in its fragment would not load the page.
      await page.goto('about:blank');
      await page.goto(`${site}/link#token`);
    },
  };
  for (const [name, openScene] of Object.entries(SCENES)) {
    const restore = await openScene(tools);
    await shoot(`scene-${name}`);
    await restore?.();
    await page.unrouteAll({ behavior: 'wait' });
  }
}
