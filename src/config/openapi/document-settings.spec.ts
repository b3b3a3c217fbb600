/** A service chooses in `gateway.yaml` which operations of a document are published, and with which scopes. */
import { describe, expect, it } from '@jest/globals';
import { configOf, problemsOf, warningsOf, type ConfigFiles } from '../../../test/support/config-files.js';

const OK = "responses: { '200': { description: ok } }";
/** The form of springdoc: a scheme without scopes at each operation. */
const SPRINGDOC = `openapi: 3.0.1
info: { title: Orders, version: v0 }
servers: [{ url: 'http://localhost:8080' }]
tags: [{ name: order-controller }, { name: actuator }]
paths:
  /orders:
    get: { tags: [order-controller], operationId: list, security: [{ bearer: [] }], ${OK} }
    post: { tags: [order-controller], operationId: create, security: [{ bearer: [] }], ${OK} }
  /orders/export:
    get: { tags: [order-controller], operationId: export, security: [{ bearer: [] }], ${OK} }
  /orders/{id}:
    get: { tags: [order-controller], operationId: one, security: [{ bearer: [] }], ${OK} }
  /actuator/health:
    get: { tags: [actuator], operationId: health, security: [{ bearer: [] }], ${OK} }
components: { securitySchemes: { bearer: { type: http, scheme: bearer, bearerFormat: JWT } } }
`;

function files(settings: string, document = SPRINGDOC, target = 'http://127.0.0.1:1'): ConfigFiles {
  const service = `{ targets: ['${target}'], openapi: api.yaml, ${settings} }`;
  return { 'gateway.yaml': `services:\n  orders: ${service}\nplans: {}\n`, 'api.yaml': document };
}

/** Operations and their scopes, such as `GET /orders a:read`. */
async function published(given: ConfigFiles): Promise<string[]> {
  const { operations } = await configOf(given);
  return operations.map(({ method, template, scopes }) => [method, template, ...scopes].join(' '));
}

describe('scopes of a service', () => {
  it('apply to operations without scopes, by whether the method reads or writes', async () => {
    expect(await published(files('scopes: { read: [orders:read], write: [orders:read, orders:write] }'))).toEqual([
      'GET /orders orders:read',
      'POST /orders orders:read orders:write',
      'GET /orders/export orders:read',
      'GET /orders/{id} orders:read',
      'GET /actuator/health orders:read',
    ]);
  });

  it('can be the same for all operations, or empty for any valid key', async () => {
    const [first, second] = await published(files('scopes: [orders:any]'));
    expect([first, second]).toEqual(['GET /orders orders:any', 'POST /orders orders:any']);
    expect((await published(files('scopes: []')))[0]).toBe('GET /orders');
  });

  it('do not apply where the document or an `operations` entry names scopes', async () => {
    const document = SPRINGDOC.replace('bearer: []', 'bearer: [list:read]');
    const given = files('scopes: [orders:any]', document);
    const entry = 'operations: [{ match: POST /orders, scopes: [] }]\n';
    const all = await published({ ...given, 'gateway.yaml': `${given['gateway.yaml']}${entry}` });
    expect(all.slice(0, 3)).toEqual(['GET /orders list:read', 'POST /orders', 'GET /orders/export orders:any']);
  });

  it('replace alternatives and foreign scopes, with one warning', async () => {
    const document = SPRINGDOC.replace('bearer: []', "bearer: ['https://example.com/auth']").replace(
      '[{ bearer: [] }]',
      '[{ bearer: [] }, {}]',
    );
    const given = files('scopes: [orders:any]', document);
    expect((await published(given)).every((operation) => operation.endsWith(' orders:any'))).toBe(true);
    expect((await warningsOf(given)).map(({ message }) => message)).toEqual([
      '2 operations name alternatives, or scopes that are not resource:verb: `scopes` of `orders` are used instead',
    ]);
    expect(await problemsOf(files('', document))).toHaveLength(5);
  });

  it('are added to an operation that names both a valid and a foreign scope', async () => {
    const document = SPRINGDOC.replace('bearer: []', "bearer: [list:read, 'https://example.com/auth']");
    expect((await published(files('scopes: [orders:any]', document)))[0]).toBe('GET /orders list:read orders:any');
  });

  it('that are empty do not open an operation that requires a foreign scope', async () => {
    const document = SPRINGDOC.replace('bearer: []', "bearer: ['Orders.Admin']");
    expect((await problemsOf(files('scopes: []', document))).map(({ message }) => message)).toEqual([
      expect.stringContaining('Orders.Admin'),
    ]);
  });

  it.each(['scopes: orders:read', 'scopes: { read: [a:b] }', 'scopes: [Orders]'])('%s is refused', async (settings) => {
    expect((await problemsOf(files(settings))).map(({ path }) => path)).toContainEqual(
      expect.stringMatching(/^services\.orders\.scopes/),
    );
  });
});

describe('a path that cannot be routed', () => {
  it.each(['/orders/größe', '/orders/{id*}:purge', '/orders/{id}{format}:cancel', '/orders/a%20b'])(
    '%s is refused, even if excluded, when an operation with a parameter would match its requests',
    async (path) => {
      const document = SPRINGDOC.replace('  /actuator/health:', `  ${path}:`);
      for (const settings of ['scopes: []', 'scopes: [], exclude: [{ tag: actuator }]']) {
        expect((await problemsOf(files(settings, document))).map(({ message }) => message)).toEqual([
          expect.stringContaining('`GET /orders/{id}` would take its requests'),
        ]);
      }
    },
  );

  it('is left out if no published operation would match its requests', async () => {
    const document = SPRINGDOC.replace('  /actuator/health:', '  /internal/{path*}:');
    expect(await published(files('scopes: []', document))).toHaveLength(4);
  });
});

describe('include and exclude', () => {
  const names = async (settings: string): Promise<(string | undefined)[]> =>
    (await configOf(files(`scopes: [], ${settings}`))).operations.map(({ id }) => id);

  it.each([
    ['exclude: [{ tag: actuator }]', ['list', 'create', 'export', 'one']],
    ['exclude: [{ path: /orders }]', ['health']],
    ['exclude: [{ path: /orders/ }]', ['list', 'create', 'health']],
    ['exclude: [{ operationId: create }, { tag: actuator }]', ['list', 'export', 'one']],
    ['include: [{ tag: actuator }, { operationId: one }]', ['one', 'health']],
    ['include: [{ path: /orders }], exclude: [{ operationId: export }]', ['list', 'create', 'one']],
  ])('%s', async (settings, expected) => {
    expect(await names(settings)).toEqual(expected);
  });

  it('keep the paths of excluded operations as unpublished', async () => {
    const { unpublished } = await configOf(files('scopes: [], exclude: [{ operationId: export }]'));
    expect(unpublished).toEqual([{ template: '/orders/export' }]);
  });

  it('are rejected with a suggestion if an excluded tag does not exist', async () => {
    const [problem, ...others] = await problemsOf(files('scopes: [], exclude: [{ tag: actuatr }]'));
    expect(problem).toMatchObject({
      path: 'services.orders.exclude[0]',
      message: 'no operation of the document has the tag `actuatr`',
      hint: 'did you mean `actuator`?',
    });
    expect(others).toEqual([]);
  });

  it('cause no warning about an excluded path', async () => {
    const document = SPRINGDOC.replace('/actuator/health', '/actuator/**');
    const given = files('scopes: [], exclude: [{ path: /actuator }]', document);
    expect(await warningsOf(given)).toEqual([]);
  });
});

describe('an operation that cannot be published is left out with a warning', () => {
  it.each([
    ['/files/*', 'the path has `*`: there are no wildcards'],
    ['/orders/:id', 'the path has `:id`: write parameters in braces'],
    ['/search?sort={by}', 'the path has `search?sort={by}`: a query or a fragment is no part of the path'],
    ['/{proxy+}', 'the path has `{proxy+}`: a parameter has a name and nothing else'],
    ['/a/{x}{y}', 'the path has `{x}{y}`: parameters cannot be told apart'],
  ])('%s', async (template, message) => {
    const given = files('scopes: []', SPRINGDOC.replace('/actuator/health', `'${template}'`));
    expect(await published(given)).toHaveLength(4);
    expect(await warningsOf(given)).toMatchObject([
      { line: 13, message: `${message}, so its operations are left out` },
    ]);
  });

  it('TRACE', async () => {
    const given = files('scopes: []', SPRINGDOC.replace('get: { tags: [actuator]', 'trace: { tags: [actuator]'));
    expect(await published(given)).toHaveLength(4);
    expect(await warningsOf(given)).toMatchObject([{ message: 'TRACE cannot be published, so it is left out' }]);
  });
});

describe('`servers` of a document', () => {
  const warnings = async (url: string, target?: string): Promise<string[]> => {
    const document = SPRINGDOC.replace("{ url: 'http://localhost:8080' }", url);
    return (await warningsOf(files('scopes: []', document, target))).map(({ message, hint }) => `${message} → ${hint}`);
  };

  it('cause a warning if they have a prefix that no target has', async () => {
    const expected =
      'puts the paths below `/api/v3`, which no target has → ' +
      'if the backend wants it, write it behind each target: http://127.0.0.1:1/api/v3';
    expect(await warnings('{ url: /api/v3 }')).toEqual([expected]);
    expect(
      await warnings("{ url: 'https://{host}/api/{v}/', variables: { host: { default: a.com }, v: { default: v3 } } }"),
    ).toEqual([expected]);
  });

  it.each([
    ['{ url: / }', undefined],
    ['{ url: https://api.example.com }', undefined],
    ['{ url: https://api.example.com/api/v1 }', undefined],
    ['{ url: /api/v3 }', 'http://127.0.0.1:1/api/v3/'],
  ])('cause no warning: %s', async (url, target) => {
    expect(await warnings(url, target)).toEqual([]);
  });
});
