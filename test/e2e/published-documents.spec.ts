/** Client generators can process the published OpenAPI documents completely. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startReferenceDeployment, type ReferenceDeployment } from '../support/reference-deployment.js';

type Json = Readonly<Record<string, unknown>>;

let deployment: ReferenceDeployment;
const documents: Record<string, Json> = {};
beforeAll(async () => {
  deployment = await startReferenceDeployment();
  for (const [name, text] of Object.entries(await deployment.documents())) documents[name] = JSON.parse(text) as Json;
});
afterAll(() => deployment.stop());

/** Returns the paths of all objects in a document for which `holds` returns true. */
function placesOf(document: unknown, holds: (object: Json) => boolean): string[] {
  const places: string[] = [];
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null || /\/(?:examples?|default|x-[\w-]+)$/.test(path)) return;
    if (!Array.isArray(value) && holds(value as Json)) places.push(path);
    for (const [name, each] of Object.entries(value)) walk(each, `${path}/${name}`);
  };
  walk(document, '');
  return places;
}

const isPrimitive = (schema: unknown): boolean => {
  const { $ref: reference, type, properties } = schema as Json;
  return (
    reference === undefined && properties === undefined && type !== 'object' && type !== 'array' && type !== 'null'
  );
};

describe('the public document', () => {
  it('has no enum without a type, because Java would read numbers as strings', () => {
    expect(
      placesOf(documents['public'], (schema) => Array.isArray(schema['enum']) && schema['type'] === undefined),
    ).toEqual([]);
  });

  it('has no alternatives of primitive types, which ogen refuses and Java cannot send in a query', () => {
    const alternatives = (schema: Json): readonly unknown[] =>
      [schema['anyOf'], schema['oneOf']].flat().filter(Boolean);
    expect(placesOf(documents['public'], (schema) => alternatives(schema).filter(isPrimitive).length > 0)).toEqual([]);
  });

  it('has no nullable object as a list of types, because Rust misses the null behind a reference', () => {
    const isNullableObject = ({ type }: Json) => Array.isArray(type) && type.includes('object');
    expect(placesOf(documents['public'], isNullableObject)).toEqual([]);
  });

  it('has a description of at most 1,500 characters, whose links work', async () => {
    const { description = '' } = (documents['public']?.['info'] ?? {}) as { description?: string };
    expect(description.length).toBeLessThanOrEqual(1_500);
    const links = Array.from(description.matchAll(/\]\(https:\/\/[^/)]+(\/[^)]*)\)/g), ([, path = '']) => path);
    expect(links.length).toBeGreaterThan(3);
    for (const link of links)
      expect([link, (await fetch(deployment.gateway.gatewayUrl + link)).status]).toEqual([link, 200]);
  });

  it('has an example of each event', () => {
    const webhooks = Object.entries(documents['public']?.['webhooks'] as Record<string, { post: Json }>);
    expect(webhooks.map(([name]) => name)).toEqual(
      expect.arrayContaining(['customer.created', 'customer.updated', 'customer.deleted']),
    );
    for (const [name, { post }] of webhooks) {
      const { example } = (post['requestBody'] as { content: Record<string, Json> }).content['application/json']!;
      expect([name, example]).toEqual([
        name,
        expect.objectContaining({ type: name, data: expect.any(Object) as unknown }),
      ]);
      expect(Object.keys((example as { data: object }).data)).not.toEqual([]);
    }
  });
});

it.each(['public', 'admin'])(
  'the %s document has no example Idempotency-Key, because copied samples would repeat one request',
  (name) => {
    const isKey = (parameter: Json) => parameter['name'] === 'Idempotency-Key';
    const hasExample = (parameter: Json): boolean =>
      ['example', 'examples'].some((word) => word in parameter || word in ((parameter['schema'] ?? {}) as object));
    expect(placesOf(documents[name], isKey).length).toBeGreaterThan(0);
    expect(placesOf(documents[name], (parameter) => isKey(parameter) && hasExample(parameter))).toEqual([]);
  },
);
