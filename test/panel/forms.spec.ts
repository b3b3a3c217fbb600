/**
 * Every form of the panel shows the reason of every refusal, in the viewport: at its field, or in the error box. Each
 * form is opened in a real browser, its request is caught, and answered with each 422 that its operation can give.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';
import type { Page, Route } from 'playwright-core';
import { newSecretsKey } from '../../src/stores/secrets/secret-box.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { goWithin, hasRead, startBrowser, type Browser } from '../support/browser.js';
import { describeWithChromium } from '../support/describe-with.js';
import { newOperator, panelUrlOf, signInThere } from '../support/panel-people.js';
import { FORMS, type At } from '../support/panel-forms.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { PUBLIC_URL } from '../support/webhook-endpoints.js';

/** Low enough that long forms do not fit. */
const WINDOW = { width: 1_280, height: 640 };
/** Without a tool, the form for an assistant key does not exist. */
const CONFIG = {
  operations: [{ match: 'GET /customers', mcp: { description: 'Lists the customers.', destructive: false } }],
};

const sourceOf = (file: string): string => readFileSync(`src/panel/${file}`, 'utf8');
const SOURCES = globSync('**/*.tsx', { cwd: 'src/panel' }).toSorted();

describe('the sources of the panel', () => {
  it('have one form component, and this test covers every form that uses it', () => {
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

/**
 * Returns JSON pointers to the whole body and all its fields, as a 422 can name them. Lists stand for their entries.
 */
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

/** Reports whether a text is visible: completely inside the window, and not covered. */
async function isSeen(page: Page, reason: string): Promise<boolean> {
  const box = await page.getByText(reason).last().boundingBox();
  if (box === null || box.y < 0 || box.y + box.height > WINDOW.height) return false;
  const middle = `${box.x + box.width / 2}, ${box.y + box.height / 2}`;
  const topmostText = await page.evaluate<string>(`document.elementFromPoint(${middle})?.textContent ?? ''`);
  return topmostText.includes(reason);
}

describeWithChromium('a form', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;
  let browser: Browser;
  let document: OpenApi;
  let at: At;
  /** Page that the forms share unless they need their own. */
  let shared: Page;

  beforeAll(async () => {
    backend = await startBackend(json({ data: [] }));
    [trailgate, browser] = await Promise.all([
      startTrailgate({ backend: backend.url, config: CONFIG, env: { TRAILGATE_SECRETS_KEY: newSecretsKey() } }),
      startBrowser({ viewport: WINDOW }),
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
    shared = await browser.newPage();
    await shared.goto(home);
    await hasRead(shared);
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
    'of $file shows every validation error of $operation',
    async (form) => {
      const context = form.isSignedOut === true ? await browser.newContext() : browser.context;
      const isOwn = form.isSignedOut === true || form.isLoaded === true;
      const page = isOwn ? await context.newPage() : shared;
      // Leave the previous form.
      if (!isOwn) await goWithin(page, `${at.account}/nowhere`);
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
        const about = JSON.stringify(refusal.errors);
        await eventually(`the reason of ${about} is visible`, () => isSeen(page, reason));
      }
      if (form.isSignedOut === true) await context.close();
      else if (isOwn) await page.close();
      else await page.unrouteAll();
    },
    120_000,
  );

  it('causes no browser errors or policy violations', () => {
    expect(browser.faults).toEqual([]);
  });
});
