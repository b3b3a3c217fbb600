/** The public OpenAPI document: valid, complete for integrators, and silent about what is not published. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI, configOf } from '../../test/support/config-files.js';
import { readEnvironment } from '../config/model/environment.js';
import { loadConfig } from '../config/load.js';
import { visitObjects } from '../config/openapi/openapi-traversal.js';
import { ERRORS } from '../problems/errors.js';
import { buildPublicOpenApi } from './public-openapi.js';

interface Document {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, PublicOperation>>;
  components: Record<string, Record<string, Record<string, unknown>>>;
}
interface PublicOperation {
  operationId: string;
  description: string;
  deprecated?: boolean;
  security: unknown;
  parameters?: { name: string; in: string }[];
  responses: Record<string, { $ref?: string; headers?: Record<string, unknown>; content?: Record<string, unknown> }>;
}

/** Names that every object of JavaScript has: schemas of a racing API are called so. */
const INHERITED = `openapi: 3.1.0
info: { title: Cars, version: '1' }
security: [{ key: ['cars:read'] }]
paths:
  /cars:
    get:
      responses:
        '200': { description: ok, content: { application/json: { schema: { $ref: '#/components/schemas/constructor' } } } }
components:
  schemas:
    constructor: { type: object, properties: { toString: { $ref: '#/components/schemas/valueOf' } } }
    valueOf: { type: string }
`;

/** Parts of operations that others refer to, and that refer to others. */
const REFERRING = `openapi: 3.1.0
info: { title: Trees, version: '1' }
security: [{ key: ['trees:read'] }]
paths:
  /trees:
    get:
      parameters: [{ name: q, in: query, schema: {} }]
      responses:
        '200':
          description: ok
          content:
            application/json:
              schema:
                type: object
                properties:
                  branches: { type: array, items: { $ref: '#/paths/~1trees/get/responses/200/content/application~1json/schema' } }
                  leaf: { $ref: '#/components/schemas/Leaf' }
  /leaves:
    get:
      parameters: [{ $ref: '#/paths/~1trees/get/parameters/0' }]
      responses:
        '200': { description: ok, content: { application/json: { schema: { $ref: '#/paths/~1trees/get/responses/200/content/application~1json/schema' } } } }
components:
  schemas:
    Leaf: { type: object, properties: { tree: { $ref: '#/paths/~1trees/get/responses/200/content/application~1json/schema' }, size: { $ref: '#/components/schemas/Size' }, least: { $ref: '#size' } } }
    Size: { type: integer, $anchor: size }
`;

/** Compiling the standard's schema takes longer than all of these documents. */
const validator = new Validator();

async function documentOf(files: Record<string, string>, isDeprecated = false): Promise<Document> {
  const document = buildPublicOpenApi(await configOf(files), { isDeprecated });
  const result = await validator.validate(JSON.stringify(document, null, 1));
  expect(result).toEqual({ valid: true });
  expect(danglingReferences(document as unknown as Document)).toEqual([]);
  return document as unknown as Document;
}

function danglingReferences(document: Document): string[] {
  const references: string[] = [];
  visitObjects(document, (object) => {
    if (typeof object['$ref'] === 'string') references.push(object['$ref']);
  });
  return references.filter((reference) => {
    const [, , type = '', name = ''] = reference.split('/');
    return document.components[type]?.[name] === undefined;
  });
}

const TWO_SERVICES = `
services:
  boats: { targets: [http://10.0.0.1:1], openapi: boats.yaml }
  guides: { targets: [http://10.0.0.2:1], openapi: guides.yaml }
operations:
  - { match: 'DELETE /boats/{id}', service: boats, scopes: [boats:write], cost: 3 }
plans: {}
`;
const BOATS = `
openapi: 3.0.3
info: { title: Boats, version: '7' }
servers: [{ url: https://boats.internal }]
security: [{ internalToken: ['boats:read'] }]
paths:
  /boats/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    get:
      operationId: getBoat
      x-trailgate-cost: 2
      responses:
        '200': { description: A boat, content: { application/json: { schema: { $ref: '#/components/schemas/Item' } } } }
        '404': { description: No such boat., content: { text/html: { schema: { type: string } } } }
components:
  securitySchemes: { internalToken: { type: apiKey, in: header, name: X-Internal } }
  schemas:
    Item: { type: object, properties: { name: { type: string, nullable: true }, seats: { type: integer, minimum: 0, exclusiveMinimum: true }, next: { nullable: true, allOf: [{ $ref: '#/components/schemas/Item' }] } } }
    Secret: { type: object, description: internal }
`;
const GUIDES = `
openapi: 3.1.0
info: { title: Guides, version: '8' }
security: [{ key: ['guides:read'] }]
paths:
  /guides:
    get:
      operationId: listGuides
      responses: { '200': { $ref: '#/components/responses/Page' }, default: { description: Lost, content: { text/html: {} } } }
components:
  responses: { Page: { description: Guides, content: { application/json: { schema: { $ref: '#/components/schemas/Item' } } } } }
  schemas:
    Item: { oneOf: [{ $ref: '#/components/schemas/Problem' }], discriminator: { propertyName: kind, mapping: { a: '#/components/schemas/Problem' } } }
    Problem: { type: object, description: A problem on the river, properties: { kind: { type: string } } }
`;

describe('the public OpenAPI document', () => {
  it('is valid OpenAPI 3.1.1 for the reference deployment, with every operation that is published', async () => {
    const result = await loadConfig('gateway.yaml', readEnvironment({}), {});
    expect(result).toHaveProperty('config');
    if (!('config' in result)) return;
    const document = buildPublicOpenApi(result.config) as unknown as Document;
    await expect(validator.validate(JSON.stringify(document, null, 1))).resolves.toEqual({ valid: true });
    expect(danglingReferences(document)).toEqual([]);
    expect(document.openapi).toBe('3.1.1');
    const published = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path}`),
    );
    const configured = result.config.operations.map(({ method, template }) => `${method.toLowerCase()} ${template}`);
    expect(published.toSorted()).toEqual([...configured, 'get /usage'].toSorted());
  });

  it('says where the API is, and nothing of where the backends are', async () => {
    const document = await documentOf({ 'gateway.yaml': TWO_SERVICES, 'boats.yaml': BOATS, 'guides.yaml': GUIDES });
    expect(document.servers).toEqual([{ url: 'http://localhost:8080/api/v1' }]);
    expect(JSON.stringify(document)).not.toMatch(/X-Internal|boats\.internal|Secret|10\.0\.0/);
    expect(Object.keys(document.components['securitySchemes'] ?? {})).toEqual(['bearerAuth']);
  });

  it('gives each operation its effective scopes and cost', async () => {
    const { paths } = await documentOf({ 'gateway.yaml': TWO_SERVICES, 'boats.yaml': BOATS, 'guides.yaml': GUIDES });
    expect(paths['/boats/{id}']?.['get']).toMatchObject({
      operationId: 'getBoat',
      security: [{ bearerAuth: ['boats:read'] }],
      description: 'Needs the scope `boats:read`. Counts as 2 requests.',
    });
    expect(paths['/boats/{id}']?.['delete']).toMatchObject({
      security: [{ bearerAuth: ['boats:write'] }],
      parameters: [{ name: 'id', in: 'path', required: true }],
    });
    expect(JSON.stringify(paths)).not.toContain('x-trailgate');
  });

  it('gives a component whose name is taken the name of its service, wherever it is referred to', async () => {
    const { components, paths } = await documentOf({
      'gateway.yaml': TWO_SERVICES,
      'boats.yaml': BOATS,
      'guides.yaml': GUIDES,
    });
    expect(Object.keys(components['schemas'] ?? {}).toSorted()).toEqual([
      'ErrorCode',
      'FieldError',
      'GuidesItem',
      'GuidesProblem',
      'Item',
      'Problem',
      'Usage',
      'UsageRow',
      'UsageWindow',
    ]);
    expect(components['schemas']?.['GuidesItem']).toEqual({
      oneOf: [{ $ref: '#/components/schemas/GuidesProblem' }],
      discriminator: { propertyName: 'kind', mapping: { a: '#/components/schemas/GuidesProblem' } },
    });
    expect(JSON.stringify(paths['/guides']?.['get']?.responses['200'])).toContain('#/components/schemas/GuidesItem');
  });

  it('turns the schemas of a 3.0 document into those of 3.1', async () => {
    const { components } = await documentOf({
      'gateway.yaml': TWO_SERVICES,
      'boats.yaml': BOATS,
      'guides.yaml': GUIDES,
    });
    expect(components['schemas']?.['Item']?.['properties']).toEqual({
      name: { type: ['string', 'null'] },
      seats: { type: 'integer', exclusiveMinimum: 0 },
      next: { anyOf: [{ allOf: [{ $ref: '#/components/schemas/Item' }] }, { type: 'null' }] },
    });
  });

  it('describes every error as a problem, whatever the backend says, and every usual refusal', async () => {
    const { paths } = await documentOf({
      'gateway.yaml': TWO_SERVICES,
      'boats.yaml': BOATS,
      'guides.yaml': GUIDES,
    });
    const responses = paths['/boats/{id}']?.['get']?.responses ?? {};
    expect(Object.keys(responses)).toEqual([
      '200',
      '400',
      '401',
      '403',
      '404',
      '405',
      '413',
      '429',
      '500',
      '502',
      '503',
      '504',
      'default',
    ]);
    expect(responses['404']).toMatchObject({
      description: 'No such boat.',
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    });
    expect(responses['404']?.content).not.toHaveProperty('text/html');
  });

  it('names the codes of errors in an enum, and a client made from it takes one that it does not know yet', async () => {
    const { components } = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI });
    expect(components['schemas']?.['ErrorCode']?.['enum']).toEqual(Object.keys(ERRORS));
    const problem = components['schemas']?.['Problem']?.['properties'] as { code: { anyOf: unknown[] } };
    expect(problem.code.anyOf).toEqual([
      { $ref: '#/components/schemas/ErrorCode' },
      { type: 'string', maxLength: 100 },
    ]);
  });

  it('has one Problem for all errors, whatever a service calls so', async () => {
    const result = await loadConfig('gateway.yaml', readEnvironment({}), {});
    if (!('config' in result)) throw new Error('gateway.yaml is not valid');
    const document = buildPublicOpenApi(result.config) as unknown as Document;
    const names = Object.keys(document.components['schemas'] ?? {});
    expect(names.filter((name) => /Problem|FieldError/.test(name))).toEqual(['Problem', 'FieldError']);
    const two = await documentOf({ 'gateway.yaml': TWO_SERVICES, 'boats.yaml': BOATS, 'guides.yaml': GUIDES });
    expect(two.paths['/guides']?.['get']?.responses['default']?.content).toEqual({
      'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
    });
    expect(two.components['schemas']?.['GuidesProblem']).toMatchObject({ description: 'A problem on the river' });
  });

  it('keeps what a service says of itself, before what is the same for all', async () => {
    const described = OPENAPI.replace('title: Customers', 'title: Customers, summary: Guests, description: Who books.');
    expect(described).not.toBe(OPENAPI);
    const { info } = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': described });
    expect(info.description).toMatch(/^Who books\.\n\n## Authentication\n/);
    expect(info).toMatchObject({ summary: 'Guests' });
    const several = await documentOf({
      'gateway.yaml': TWO_SERVICES,
      'boats.yaml': BOATS.replace('title: Boats,', 'title: Boats, description: What floats,'),
      'guides.yaml': GUIDES.replace('title: Guides,', 'title: Guides, description: Who leads,'),
    });
    expect(several.info.description).toMatch(/^## Boats\nWhat floats\n\n## Guides\nWho leads\n\n## Authentication\n/);
  });

  it('has all that is referred to outside of components, through others and in circles', async () => {
    const { paths, components } = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': REFERRING });
    const tree = '#/components/schemas/PathsTreesGetResponses200ContentApplicationJsonSchema';
    expect(paths['/leaves']?.['get']?.responses['200']?.content).toEqual({
      'application/json': { schema: { $ref: tree } },
    });
    expect(components['schemas']?.[tree.split('/').at(-1) ?? '']).toEqual({
      type: 'object',
      properties: { branches: { type: 'array', items: { $ref: tree } }, leaf: { $ref: '#/components/schemas/Leaf' } },
    });
    expect(components['schemas']?.['Leaf']).toEqual({
      type: 'object',
      properties: {
        tree: { $ref: tree },
        size: { $ref: '#/components/schemas/Size' },
        least: { $ref: '#/components/schemas/size' },
      },
    });
    expect(components['schemas']).toMatchObject({ Size: { type: 'integer' }, size: { type: 'integer' } });
    expect(paths['/leaves']?.['get']?.parameters).toEqual([{ name: 'q', in: 'query', schema: {} }]);
  });

  it('describes what a backend calls `default` beside a success as a problem too, and adds one where there is none', async () => {
    const { paths, components } = await documentOf({
      'gateway.yaml': TWO_SERVICES,
      'boats.yaml': BOATS,
      'guides.yaml': GUIDES,
    });
    const own = paths['/guides']?.['get']?.responses['default'];
    expect([own?.content && Object.keys(own.content), own]).toEqual([
      ['application/problem+json'],
      expect.objectContaining({ description: 'Lost' }),
    ]);
    const added = { $ref: '#/components/responses/OtherError' };
    expect(paths['/boats/{id}']?.['get']?.responses['default']).toEqual(added);
    expect(paths['/usage']?.['get']?.responses['default']).toEqual(added);
    expect(components['responses']).toHaveProperty('OtherError');
  });

  it('names the headers of limits and the request id on every answer', async () => {
    const { paths, components } = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI });
    const answers = Object.values(paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => Object.entries(operation.responses)),
    );
    for (const [status, answer] of answers) {
      const name = answer.$ref?.split('/').at(-1) ?? '';
      const shared = components['responses']?.[name]?.['headers'] as Record<string, unknown> | undefined;
      const headers = answer.headers ?? shared ?? {};
      expect([status, headers]).toEqual([status, expect.objectContaining({ 'X-Request-Id': expect.anything() })]);
      const namesLimits = [
        'RateLimit',
        'RateLimit-Policy',
        'X-RateLimit-Limit',
        'X-RateLimit-Remaining',
        'X-RateLimit-Reset',
      ].every((one) => one in headers);
      expect([status, namesLimits]).toEqual([status, !['401', '405'].includes(status)]);
    }
    expect(components['responses']?.['TooManyRequests']?.['headers']).toHaveProperty('Retry-After');
  });

  it('marks every operation of a deprecated version', async () => {
    const before = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI });
    expect(JSON.stringify(before.paths)).not.toContain('"deprecated"');
    const after = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI }, true);
    expect(after.paths['/customers']?.['get']?.deprecated).toBe(true);
    expect(after.paths['/customers']?.['post']?.deprecated).toBe(true);
  });

  it('tells integrators how to sign in, what errors and limits are, how to page and what may change', async () => {
    const { info } = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI });
    const headings = Array.from(info.description.matchAll(/^## (.*)$/gm), (match) => match[1]);
    expect(headings).toEqual(['Authentication', 'Errors', 'Limits', 'Pagination', 'Versioning']);
  });
});

describe('schemas whose names every object has', () => {
  it('keep them', async () => {
    const { components } = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': INHERITED });
    expect(Object.keys(components['schemas'] ?? {})).toEqual(expect.arrayContaining(['constructor', 'valueOf']));
    expect(JSON.stringify(components['schemas']?.['constructor'])).toContain('#/components/schemas/valueOf');
  });
});
