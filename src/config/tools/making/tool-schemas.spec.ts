/** Tool schemas from OpenAPI 3.0 and 3.1: self-contained, and of bounded size for any document. */
import { describe, expect, it } from '@jest/globals';
import { json, ok, propertiesOf, query, toolOf } from '../../../../test/support/tools.js';

describe('the alternatives of a discriminator', () => {
  const animal = (more: object) => ({ type: 'object', properties: { kind: { type: 'string' }, ...more } });
  const components = {
    schemas: { Cat: animal({ lives: { type: 'integer' } }), Dog: animal({ tricks: { type: 'integer' } }) },
  };
  const oneOf = ['Cat', 'Dog'].map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const kindsOf = (discriminator: object): unknown => {
    const schema = { oneOf, discriminator: { propertyName: 'kind', ...discriminator } };
    const tool = toolOf('POST /x', { requestBody: { required: true, ...json(schema) } }, { components });
    const { body } = propertiesOf(tool.inputSchema) as { body: { oneOf: object[] } };
    return body.oneOf.map((each) => propertiesOf(each)['kind']);
  };

  it.each([
    ['by the names of their schemas', {}, [{ const: 'Cat' }, { const: 'Dog' }]],
    [
      'as they are mapped',
      { mapping: { cat: '#/components/schemas/Cat', dog: 'Dog', hound: 'Dog' } },
      [{ const: 'cat' }, { enum: ['dog', 'hound'] }],
    ],
  ])('get their value %s', (_case, discriminator, kinds) => {
    expect(kindsOf(discriminator)).toMatchObject(kinds.map((kind) => ({ type: 'string', ...kind })));
  });

  it('keep the values of their own schemas, whatever these are called', () => {
    const own = (kind: string) => ({ type: 'object', properties: { kind: { enum: [kind] } } });
    const schemas = { Cat: own('cat'), Dog: own('dog') };
    const schema = { oneOf, discriminator: { propertyName: 'kind' } };
    const tool = toolOf('POST /x', { requestBody: { required: true, ...json(schema) } }, { components: { schemas } });
    const { body } = propertiesOf(tool.inputSchema) as { body: { oneOf: object[] } };
    expect(body.oneOf.map((each) => propertiesOf(each)['kind'])).toEqual([{ enum: ['cat'] }, { enum: ['dog'] }]);
  });

  it('get the mapped value if their schemas share the same enum', () => {
    const shared = { type: 'object', properties: { kind: { enum: ['cat', 'dog'] } } };
    const discriminator = { propertyName: 'kind', mapping: { cat: '#/components/schemas/Cat', dog: 'Dog' } };
    const components = { schemas: { Cat: shared, Dog: shared } };
    const tool = toolOf(
      'POST /x',
      { requestBody: { required: true, ...json({ oneOf, discriminator }) } },
      { components },
    );
    const { body } = propertiesOf(tool.inputSchema) as { body: { oneOf: object[] } };
    expect(body.oneOf.map((each) => propertiesOf(each)['kind'])).toEqual([{ const: 'cat' }, { const: 'dog' }]);
  });

  it('get no value if a schema only extends another with allOf', () => {
    const motor = { allOf: [oneOf[0]], discriminator: { propertyName: 'kind' } };
    const tool = toolOf('POST /x', { requestBody: { required: true, ...json(motor) } }, { components });
    expect(JSON.stringify(tool.inputSchema)).not.toContain('const');
  });

  it('get no value in an output schema', () => {
    const schema = { oneOf, discriminator: { propertyName: 'kind' } };
    const responses = { '200': { description: 'ok', ...json(schema) } };
    const tool = toolOf('GET /x', { responses }, { components });
    expect(tool.outputSchema).toBeDefined();
    expect(JSON.stringify(tool.outputSchema)).not.toMatch(/const|enum/);
  });
});

describe('an input schema', () => {
  it('without parameters accepts only an empty object', () => {
    expect(toolOf('GET /x', {}).inputSchema).toEqual({ type: 'object', additionalProperties: false });
  });

  it.each([
    [{ type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [
      { type: 'string', enum: ['a'], nullable: true },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      { type: 'integer', minimum: 1, exclusiveMinimum: true },
      { type: 'integer', exclusiveMinimum: 1 },
    ],
    [
      { type: 'number', maximum: 9, exclusiveMaximum: false },
      { type: 'number', maximum: 9 },
    ],
    [
      { type: 'string', example: 'a' },
      { type: 'string', examples: ['a'] },
    ],
    [
      { type: 'array', items: { type: 'string', nullable: true } },
      { type: 'array', items: { type: ['string', 'null'] } },
    ],
    [{ type: 'string', xml: { name: 'x' }, 'x-own': 1 }, { type: 'string' }],
    // A pattern this long does not help an assistant.
    [{ type: 'string', pattern: `^${'a'.repeat(80)}` }, { type: 'string' }],
  ])('converts %j from OpenAPI 3.0 to %j', (schema, expected) => {
    const tool = toolOf('GET /x', query(schema), { openapi: '3.0.3' });
    expect(propertiesOf(tool.inputSchema)['q']).toEqual(expected);
  });

  it.each([
    [
      { type: ['string', 'null'], examples: ['a', 'b'] },
      { type: ['string', 'null'], examples: ['a'] },
    ],
    [{ $ref: '#/components/schemas/Region' }, { type: 'string', enum: ['lake'], description: 'Where.' }],
    [
      { $ref: '#/components/schemas/Region', description: 'Here.' },
      { type: 'string', enum: ['lake'], description: 'Here.' },
    ],
    [
      { $ref: '#/components/schemas/Region', minLength: 2 },
      { minLength: 2, allOf: [{ type: 'string', enum: ['lake'], description: 'Where.' }] },
    ],
    [
      { type: 'string', title: 'Q', deprecated: true, contentEncoding: 'base64' },
      { type: 'string', deprecated: true },
    ],
  ])('converts %j from OpenAPI 3.1 to %j', (schema, expected) => {
    const components = { schemas: { Region: { type: 'string', enum: ['lake'], description: 'Where.' } } };
    const tool = toolOf('GET /x', query(schema), { components });
    expect(propertiesOf(tool.inputSchema)['q']).toEqual(expected);
  });

  it('takes description, example and deprecated from the parameter before its schema', () => {
    const more = { description: ' Of the\r\n  parameter. ', example: 'p', deprecated: true };
    const tool = toolOf('GET /x', query({ type: 'string', description: 'Of the schema.' }, more));
    expect(propertiesOf(tool.inputSchema)['q']).toEqual({
      type: 'string',
      description: 'Of the\nparameter.',
      examples: ['p'],
      deprecated: true,
    });
  });

  it('leaves out readOnly fields, and an output schema leaves out writeOnly fields', () => {
    const schema = {
      type: 'object',
      required: ['id', 'name'],
      properties: {
        id: { type: 'string', readOnly: true },
        name: { type: 'string' },
        secret: { $ref: '#/components/schemas/Secret' },
        address: { type: 'object', properties: { id: { readOnly: true }, street: {} }, required: ['id'] },
      },
    };
    const components = { schemas: { Secret: { type: 'string', writeOnly: true } } };
    const tool = toolOf('POST /x', { requestBody: json(schema), ...ok(schema) }, { components });
    // An optional body with a required field becomes one argument.
    expect(propertiesOf(propertiesOf(tool.inputSchema)['body'])).toEqual({
      name: { type: 'string' },
      secret: { type: 'string' },
      address: { type: 'object', properties: { street: {} } },
    });
    expect(Object.keys(propertiesOf(tool.outputSchema))).toEqual(['id', 'name', 'address']);
  });

  it('keeps a schema that contains itself in $defs, and checks arguments against it', () => {
    const Node = {
      type: 'object',
      properties: { name: { type: 'string' }, nodes: { type: 'array', items: { $ref: '#/components/schemas/Node' } } },
    };
    const tool = toolOf(
      'POST /x',
      {
        requestBody: {
          required: true,
          ...json({ type: 'object', properties: { root: { $ref: '#/components/schemas/Node' } } }),
        },
      },
      { components: { schemas: { Node } } },
    );
    const inner = { type: 'array', items: { $ref: '#/$defs/Node' } };
    expect(tool.inputSchema).toEqual({
      type: 'object',
      properties: { root: { type: 'object', properties: { name: { type: 'string' }, nodes: inner } } },
      additionalProperties: false,
      $defs: { Node: { type: 'object', properties: { name: { type: 'string' }, nodes: inner } } },
    });
    expect(tool.bind({ root: { nodes: [{ nodes: [{ name: 7 }] }] } })).toEqual({
      faults: [{ field: 'root.nodes[0].nodes[0].name', detail: 'must be a text, not 7' }],
    });
  });

  it('is bounded if each schema references the next one twice', () => {
    const levels = Array.from({ length: 40 }, (_, level) => {
      const next = { $ref: `#/components/schemas/L${level + 1}` };
      return [`L${level}`, { type: 'object', properties: { a: next, b: next } }];
    });
    const schemas = { ...Object.fromEntries(levels), L40: { type: 'string' } };
    const tool = toolOf(
      'POST /x',
      { requestBody: json({ $ref: '#/components/schemas/L0' }), ...ok({ $ref: '#/components/schemas/L0' }) },
      { components: { schemas } },
    );
    expect(tool.json.length).toBeLessThan(80 * 1024);
    expect(tool.bind({ a: { a: { a: 1 } } })).toHaveProperty('faults');
    expect(tool.bind({ a: { a: { a: {} } } })).toHaveProperty('url');
  });

  it('is bounded if all schemas reference each other', () => {
    const names = Array.from({ length: 30 }, (_, index) => `S${index}`);
    const each = names.map((name) => [name, { $ref: `#/components/schemas/${name}` }]);
    const schemas = Object.fromEntries(
      names.map((name) => [name, { type: 'object', properties: Object.fromEntries(each) }]),
    );
    const tool = toolOf(
      'POST /x',
      { requestBody: json({ $ref: '#/components/schemas/S0' }), ...ok({ $ref: '#/components/schemas/S0' }) },
      { components: { schemas } },
    );
    expect(tool.json.length).toBeLessThan(80 * 1024);
  });

  it.each(['allOf', 'anyOf', 'oneOf'])('is finite if %s leads back to itself', (word) => {
    const schemas = { A: { [word]: [{ $ref: '#/components/schemas/A' }, { type: 'object' }] } };
    const tool = toolOf(
      'POST /x',
      { requestBody: json({ $ref: '#/components/schemas/A' }), ...ok({ $ref: '#/components/schemas/A' }) },
      { components: { schemas } },
    );
    expect(tool.bind({ body: {} })).toHaveProperty('url');
    expect(tool.structure({})).toBeDefined();
  });
});

describe('an output schema', () => {
  it('describes the success response without constraints that could make a client reject it', () => {
    const schema = {
      type: 'object',
      required: ['id'],
      additionalProperties: false,
      properties: {
        id: { type: 'string', pattern: '^b', format: 'uuid', minLength: 3, description: 'Of the boat.' },
        kind: { oneOf: [{ const: 'a' }, { type: 'integer', enum: [1] }] },
      },
    };
    expect(toolOf('GET /x', ok(schema)).outputSchema).toEqual({
      type: 'object',
      properties: { id: { type: 'string', description: 'Of the boat.' }, kind: { anyOf: [{}, { type: 'integer' }] } },
    });
  });

  it.each([
    [
      'a list stands under result',
      { type: 'array', items: { type: 'string' } },
      { type: 'object', properties: { result: { type: 'array', items: { type: 'string' } } } },
    ],
    [
      'so does what may be null',
      { type: ['object', 'null'] },
      { type: 'object', properties: { result: { type: ['object', 'null'] } } },
    ],
    ['of nothing there is none', {}, undefined],
  ])('%s', (_case, schema, expected) => {
    expect(toolOf('GET /x', ok(schema)).outputSchema).toEqual(expected);
  });

  it.each([
    [
      'application/json',
      {
        '201': { description: 'x', ...json({ type: 'array' }) },
        '200': { description: 'ok', ...json({ type: 'object' }) },
      },
      { type: 'object' },
    ],
    [
      'application/vnd.x+json',
      { '2XX': { description: 'x', content: { 'application/vnd.x+json; v=1': { schema: { type: 'object' } } } } },
      { type: 'object' },
    ],
    ['text/csv', { '200': { description: 'x', content: { 'text/csv': {} } } }, undefined],
    ['*/*', { '204': { description: 'x' }, '400': { description: 'x', ...json({ type: 'object' }) } }, undefined],
  ])('belongs to a request that accepts %s', (accept, responses, outputSchema) => {
    const tool = toolOf('GET /x', { responses });
    expect(tool.bind({})).toMatchObject({ lines: `accept: ${accept}\r\n` });
    expect(tool.outputSchema).toEqual(outputSchema);
  });

  it('is omitted if x-mcp sets the response to text', () => {
    const tool = toolOf('GET /x', { ...ok({ type: 'object' }), 'x-mcp': { response: 'text' } });
    expect([tool.outputSchema, tool.structure({})]).toEqual([undefined, undefined]);
  });
});
