/** The public OpenAPI document: valid, complete for integrators, and without unpublished details. */
import { describe, expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI } from '../../test/support/config-files.js';
import {
  BOATS,
  danglingReferences,
  documentOf,
  GUIDES,
  INHERITED,
  REFERRING,
  TWO_SERVICES,
  validator,
  type Document,
} from '../../test/support/public-documents.js';
import { readEnvironment } from '../config/model/environment.js';
import { loadConfig } from '../config/load.js';
import { OWN_EVENTS } from '../outbox/own-events.js';
import { ERRORS } from '../platform/problems/errors.js';
import { buildPublicOpenApi } from './public-openapi.js';

describe('the public OpenAPI document', () => {
  it('is valid OpenAPI 3.1.1 for the reference deployment, with every published operation', async () => {
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

  it('has the public server URL, and nothing about the backends', async () => {
    const document = await documentOf({ 'gateway.yaml': TWO_SERVICES, 'boats.yaml': BOATS, 'guides.yaml': GUIDES });
    expect(document.servers).toEqual([{ url: 'http://localhost:8080/api/v1' }]);
    expect(JSON.stringify(document)).not.toMatch(/X-Internal|boats\.internal|"Secret"|10\.0\.0/);
    expect(Object.keys(document.components['securitySchemes'] ?? {})).toEqual(['bearerAuth']);
  });

  it('has a webhook for each event type, with its schema file and everything it references', async () => {
    const schema = {
      $id: 'https://example.com/boat.json',
      type: 'object',
      required: ['id'],
      properties: {
        id: { $ref: '#/$defs/id' },
        parent: { $ref: '#' },
        guide: { $ref: 'https://example.com/boat.json#/$defs/id' },
      },
      $defs: { id: { type: 'string', maxLength: 30 } },
    };
    const events = `events:
  boat.added: { schema: ./boat.json, description: A boat., example: ./kayak.json }
  boat.sunk: {}\n`;
    const document = await documentOf({
      'gateway.yaml': `${TWO_SERVICES}\n${events}`,
      'boats.yaml': BOATS,
      'guides.yaml': GUIDES,
      'boat.json': JSON.stringify(schema),
      'kayak.json': '{"id":"boat_1"}',
    });
    const { webhooks } = document as unknown as { webhooks: Record<string, { post: Record<string, unknown> }> };
    expect(Object.keys(webhooks)).toEqual([...Object.keys(OWN_EVENTS), 'boat.added', 'boat.sunk'].toSorted());
    expect(webhooks['boat.added']?.post).toMatchObject({
      operationId: 'onBoatAdded',
      requestBody: {
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/BoatAddedEvent' },
            example: { type: 'boat.added', data: { id: 'boat_1' } },
          },
        },
      },
    });
    expect(document.components['schemas']).toMatchObject({
      BoatAddedEvent: {
        properties: {
          type: { const: 'boat.added' },
          data: {
            required: ['id'],
            properties: {
              id: { $ref: '#/components/schemas/DefsId' },
              guide: { $ref: '#/components/schemas/DefsId' },
              parent: { $ref: '#/components/schemas/BoatAddedEvent/properties/data' },
            },
          },
        },
      },
      BoatSunkEvent: { properties: { data: { type: 'object' } } },
      DefsId: { type: 'string', maxLength: 30 },
    });
    expect(danglingReferences(document)).toEqual([]);
    await expect(validator.validate(JSON.stringify(document, null, 1))).resolves.toEqual({ valid: true });
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

  it('prefixes a component with its service if the name is taken, in every reference too', async () => {
    const { components, paths } = await documentOf({
      'gateway.yaml': TWO_SERVICES,
      'boats.yaml': BOATS,
      'guides.yaml': GUIDES,
    });
    const schemas = Object.keys(components['schemas'] ?? {}).filter((name) => !name.endsWith('Event'));
    expect(schemas.toSorted()).toEqual([
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

  it('converts schemas of a 3.0 document to 3.1', async () => {
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

  it('describes every error as a problem, and adds all usual refusals', async () => {
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

  it('lists error codes as extensible, so that clients accept others', async () => {
    const { components } = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI });
    const problem = components['schemas']?.['Problem']?.['properties'] as { code: Record<string, unknown> } | undefined;
    const code = problem?.code;
    expect(code).toMatchObject({ type: 'string', 'x-extensible-enum': Object.keys(ERRORS) });
    expect(code).not.toHaveProperty('enum');
  });

  it('has one Problem schema for all errors, even if a service has its own', async () => {
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

  it('keeps the description of a service, before the common part', async () => {
    const described = OPENAPI.replace('title: Customers', 'title: Customers, summary: Guests, description: Who books.');
    expect(described).not.toBe(OPENAPI);
    const { info } = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': described });
    expect(info.description).toMatch(/^Who books\.\n\nSend your API key/);
    expect(info).toMatchObject({ summary: 'Guests' });
    const several = await documentOf({
      'gateway.yaml': TWO_SERVICES,
      'boats.yaml': BOATS.replace('title: Boats,', 'title: Boats, description: What floats,'),
      'guides.yaml': GUIDES.replace('title: Guides,', 'title: Guides, description: Who leads,'),
    });
    expect(several.info.description).toMatch(/^## Boats\nWhat floats\n\n## Guides\nWho leads\n\nSend your API key/);
  });

  it('includes everything referenced outside of components, also indirectly and in cycles', async () => {
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

  it('describes the `default` response of a backend as a problem, or adds one', async () => {
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

  it('names X-Request-Id on every response, and the limit headers on all but 401 and 405', async () => {
    const { paths, components } = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI });
    const responses = Object.values(paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => Object.entries(operation.responses)),
    );
    for (const [status, response] of responses) {
      const name = response.$ref?.split('/').at(-1) ?? '';
      const shared = components['responses']?.[name]?.['headers'] as Record<string, unknown> | undefined;
      const headers = response.headers ?? shared ?? {};
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

  it('has a short description of authentication, with links to the other pages', async () => {
    const { info } = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI });
    expect(info.description).toContain('Authorization: Bearer');
    const pages = Array.from(
      info.description.matchAll(/\]\(http:\/\/localhost:8080\/docs\/(\w+)\)/g),
      ([, name]) => name,
    );
    expect(pages).toEqual(['guide', 'webhooks', 'errors', 'versioning']);
    expect(info.description.length).toBeLessThan(800);
  });
});

describe('schemas named like members of Object.prototype', () => {
  it('keep their names', async () => {
    const { components } = await documentOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': INHERITED });
    expect(Object.keys(components['schemas'] ?? {})).toEqual(expect.arrayContaining(['constructor', 'valueOf']));
    expect(JSON.stringify(components['schemas']?.['constructor'])).toContain('#/components/schemas/valueOf');
  });
});
