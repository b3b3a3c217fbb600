/** OpenAPI documents of services, and the public document that is built from them. */
import { expect } from '@jest/globals';
import { validatorFor } from '../../src/config/openapi/openapi-structure.js';
import { visitObjects } from '../../src/config/openapi/openapi-traversal.js';
import { buildPublicOpenApi } from '../../src/reference/public-openapi.js';
import { configOf } from './config-files.js';

/** Document is the public document, as far as tests read it. */
export interface Document {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, PublicOperation>>;
  components: Record<string, Record<string, Record<string, unknown>>>;
}
/** PublicOperation is an operation of the public document. */
export interface PublicOperation {
  operationId: string;
  description: string;
  deprecated?: boolean;
  security: unknown;
  parameters?: { name: string; in: string }[];
  responses: Record<string, { $ref?: string; headers?: Record<string, unknown>; content?: Record<string, unknown> }>;
}

/** A document whose schemas are named like inherited properties of JavaScript objects. */
export const INHERITED = `openapi: 3.1.0
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

/** A document with references to parts of operations, and from these parts to components. */
export const REFERRING = `openapi: 3.1.0
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

/** Validator for OpenAPI documents. Shared, because compiling the schema takes longer than all validations. */
export const validator = await validatorFor(false);

const documents = new Map<string, Promise<Document>>();

/**
 * Returns the public document for these configuration files. Expects it to be valid and to have no dangling references.
 * Caches the document.
 */
export function documentOf(files: Record<string, string>, isDeprecated = false): Promise<Document> {
  const key = JSON.stringify([files, isDeprecated]);
  const document = documents.get(key) ?? makeDocument(files, isDeprecated);
  documents.set(key, document);
  return document;
}

async function makeDocument(files: Record<string, string>, isDeprecated: boolean): Promise<Document> {
  const document = buildPublicOpenApi(await configOf(files), { isDeprecated });
  const result = await validator.validate(JSON.stringify(document, null, 1));
  expect(result).toEqual({ valid: true });
  expect(danglingReferences(document as unknown as Document)).toEqual([]);
  return document as unknown as Document;
}

/** Returns the references that do not point to a component. */
export function danglingReferences(document: Document): string[] {
  const references: string[] = [];
  visitObjects(document, (object) => {
    if (typeof object['$ref'] === 'string') references.push(object['$ref']);
  });
  return references.filter((reference) => {
    const [, , type = '', name = ''] = reference.split('/');
    return document.components[type]?.[name] === undefined;
  });
}

/** A configuration of two services whose components have the same names. */
export const TWO_SERVICES = `
services:
  boats: { targets: [http://10.0.0.1:1], openapi: boats.yaml }
  guides: { targets: [http://10.0.0.2:1], openapi: guides.yaml }
operations:
  - { match: 'DELETE /boats/{id}', service: boats, scopes: [boats:write], cost: 3 }
plans: {}
`;
/** Document of the service `boats`, in OpenAPI 3.0. */
export const BOATS = `
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
/** Document of the service `guides`, in OpenAPI 3.1. */
export const GUIDES = `
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
