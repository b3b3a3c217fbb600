/** The OpenAPI document of the admin API matches its behavior: headers and responses to unsupported methods. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ERRORS } from '../../src/platform/problems/errors.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { send, sendRaw } from '../support/http.js';

type Json = Readonly<Record<string, unknown>>;
interface Response {
  readonly $ref?: string;
  readonly headers: Json;
}
interface Document {
  readonly paths: Record<string, Record<string, { responses: Record<string, Response>; parameters?: Json[] }>>;
  readonly components: { schemas: Record<string, Json>; responses: Record<string, Response> };
}

const AUTHORIZED = { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } };

describe('the admin API', () => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let document: Document;

  beforeAll(async () => {
    database = await testDatabase('sqlite');
    running = await startAdmin(database);
    document = await running.admin.call('GET', '/openapi.json');
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const operationsOf = () => Object.values(document.paths).flatMap((path) => Object.values(path));

  it('has neither dangling references nor unused components in its OpenAPI document', () => {
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/([^"]+)"/g);
    const had = Object.entries(document.components).flatMap(([type, named]) =>
      type === 'securitySchemes' ? [] : Object.keys(named).map((name) => `${type}/${name}`),
    );
    expect([...new Set([...references].map(([, place]) => place))].toSorted()).toEqual(had.toSorted());
  });

  it('documents every header of the 200, 400 and 401 responses of GET /accounts', async () => {
    await running.admin.createAccount({ plan: 'starter' });
    await running.admin.createAccount({ plan: 'starter' });
    const usual = new Set(
      [
        'cache-control connection content-length content-type date keep-alive x-content-type-options',
        'referrer-policy x-frame-options content-security-policy cross-origin-opener-policy cross-origin-resource-policy',
      ]
        .join(' ')
        .split(' '),
    );
    const asked = [
      ['/accounts', await send(`${running.url}/admin/v1/accounts?limit=1`, AUTHORIZED)],
      ['/accounts', await send(`${running.url}/admin/v1/accounts?limit=0`, AUTHORIZED)],
      ['/accounts', await send(`${running.url}/admin/v1/accounts`)],
    ] as const;
    for (const [path, answer] of asked) {
      const response = document.paths[`/admin/v1${path}`]?.['get']?.responses[String(answer.status)];
      const declared = new Set(Object.keys(response?.headers ?? {}).map((name) => name.toLowerCase()));
      const sent = Object.keys(answer.headers).filter((name) => !usual.has(name));
      expect([answer.status, sent.filter((name) => !declared.has(name))]).toEqual([answer.status, []]);
    }
    expect(Object.keys(asked[0][1].headers)).toEqual(expect.arrayContaining(['x-ratelimit-limit', 'link']));
  });

  it('documents all error codes in a single Problem schema', () => {
    const properties = document.components.schemas['Problem']?.['properties'] as Record<string, Json> | undefined;
    expect(properties?.['code']).toMatchObject({ type: 'string', 'x-extensible-enum': Object.keys(ERRORS) });
    expect(Object.keys(document.components.schemas).filter((name) => /Problem|FieldError/.test(name))).toEqual([
      'Problem',
      'FieldError',
    ]);
  });

  it('documents bounds for every number and string, and no defaults in its components', () => {
    const faults: string[] = [];
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { type, format, maxLength, maximum, minimum, enum: values = (value as Json)['const'] } = value as Json;
      const hasType = (name: string) => type === name || (Array.isArray(type) && type.includes(name));
      if (hasType('string') && maxLength === undefined && values === undefined) faults.push(`${path} maxLength`);
      if (hasType('integer') && [format, minimum, maximum].includes(undefined)) faults.push(`${path} bounds`);
      if ('default' in value && path.startsWith('/components') && !path.endsWith('responses')) {
        faults.push(`${path} default`);
      }
      for (const [name, child] of Object.entries(value))
        if (name !== 'enum' && name !== 'propertyNames') visit(child, `${path}/${name}`);
    };
    visit(document.components, '/components');
    for (const { parameters } of operationsOf()) visit(parameters, '/parameters');
    expect(faults).toEqual([]);
  });

  it.each([['limit', ['1', '100', '007'], ['0', '101', '1e1', '0x10', '5.0', ' 5', '', '+5']]])(
    'accepts valid and rejects invalid values of %s',
    async (name, good, bad) => {
      const statusOf = async (value: string) => {
        const query = new URLSearchParams({ [name]: value }).toString();
        return (await send(`${running.url}/admin/v1/accounts?${query}`, AUTHORIZED)).status;
      };
      for (const value of good) expect([value, await statusOf(value)]).toEqual([value, 200]);
      for (const value of bad) expect([value, await statusOf(value)]).toEqual([value, 400]);
    },
  );

  it.each(['QUERY', 'PUT', 'TRACE', 'REPORT', 'MKCALENDAR'])(
    'answers %s to a path without that method with 405 and Allow, whatever the body',
    async (method) => {
      for (const headers of [{}, { 'Content-Type': 'application/json' }, { 'Content-Type': 'text/x' }]) {
        const body = method === 'TRACE' ? {} : { body: '{' };
        const answer = await send(`${running.url}/admin/v1/accounts`, { method, headers, ...body });
        expect([answer.status, answer.headers['allow']]).toEqual([405, 'GET, HEAD, POST']);
        expect(answer.json()).toMatchObject({ code: 'method_not_allowed' });
      }
      expect((await send(`${running.url}/admin/v1/nothing`, { method })).status).toBe(404);
    },
  );

  it('answers an unknown method with 501, and bytes that are not HTTP with 400', async () => {
    const port = Number(new URL(running.url).port);
    for (const method of ['FOO', 'PURGE', 'SOURCE', 'get', 'GETS']) {
      const answer = await sendRaw(
        port,
        `${method} /admin/v1/accounts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      );
      expect([method, answer.split('\r\n')[0]]).toEqual([method, 'HTTP/1.1 501 Not Implemented']);
      expect(answer).toContain('"code":"not_implemented"');
    }
    expect(await sendRaw(port, Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]))).toMatch(/^HTTP\/1\.1 400 /);
  });
});
