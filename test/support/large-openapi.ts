/** Generates a large OpenAPI document, with separate parameters, bodies and schemas for each resource. */
import type { Json } from './program-config.js';

const OPERATIONS_PER_RESOURCE = 5;

const text = (description?: string) => ({ type: 'string', maxLength: 100, ...(description && { description }) });

const content = (resource: number) => ({
  'application/json': { schema: { $ref: `#/components/schemas/Thing${resource}` } },
});

function operation(name: string, resource: number, verb: string, more: Json = {}): Json {
  return {
    operationId: `${name}Thing${resource}`,
    summary: `${name} of things ${resource}`,
    description: 'What it does, in a sentence or two that integrators read before they call it.',
    security: [{ apiKey: [`things${resource}:${verb}`] }],
    responses: { 200: { description: 'As asked for.', content: content(resource) } },
    ...more,
  };
}

function schema(): Json {
  return {
    type: 'object',
    required: ['id', 'name'],
    properties: {
      id: text(),
      name: text('The name that people read.'),
      email: { type: 'string', format: 'email' },
      created_at: { type: 'string', format: 'date-time' },
      tags: { type: 'array', items: text() },
      amount: { type: 'integer', minimum: 0 },
    },
  };
}

function paths(resource: number): Record<string, Json> {
  const requestBody = () => ({ required: true, content: content(resource) });
  const page = [
    { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100 } },
    { name: 'cursor', in: 'query', schema: text() },
  ];
  return {
    [`/things${resource}`]: {
      get: operation('list', resource, 'read', { parameters: page }),
      post: operation('create', resource, 'write', { requestBody: requestBody() }),
    },
    [`/things${resource}/{id}`]: {
      parameters: [{ name: 'id', in: 'path', required: true, schema: text() }],
      get: operation('get', resource, 'read'),
      patch: operation('update', resource, 'write', { requestBody: requestBody() }),
      delete: operation('delete', resource, 'write'),
    },
  };
}

/**
 * Returns a document with at least this many operations, rounded up to whole resources, and `GET /open`. The document
 * names no scopes for `GET /open`, so the configuration must allow any key to call it.
 */
export function largeOpenapi(operations: number): Json {
  const resources = Array.from({ length: Math.ceil(operations / OPERATIONS_PER_RESOURCE) }, (_, index) => index);
  const open = { operationId: 'getOpen', security: [{ apiKey: [] }], responses: { default: { description: 'Any.' } } };
  return {
    openapi: '3.1.0',
    info: { title: 'Large backend', version: '1.0.0' },
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries(resources.map((resource) => [`Thing${resource}`, schema()])),
    },
    paths: Object.assign({ '/open': { get: open } }, ...resources.map(paths)) as Json,
  };
}
