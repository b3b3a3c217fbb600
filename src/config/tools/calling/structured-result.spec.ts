/** Structured content always matches the output schema, whatever a backend sends. */
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { ok, toolOf } from '../../../../test/support/tools.js';

const boat = {
  type: 'object',
  required: ['id', 'name'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', pattern: '^boat_' },
    name: { type: 'string', minLength: 3 },
    seats: { type: 'integer', minimum: 1 },
    owner: { type: ['object', 'null'], properties: { name: { type: 'string' } } },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 2 },
    kind: { type: 'string', enum: ['canoe'] },
    key: { type: 'string', writeOnly: true },
  },
};
const structure = (schema: unknown, body: unknown) => toolOf('GET /x', ok(schema)).structure(body);

describe('structured content of a response keeps', () => {
  it.each([
    ['all of it, where it is as the schema says', { id: 'boat_1', name: 'Ida', seats: 2 }, undefined],
    ['all of it, where fields are missing', {}, undefined],
    [
      'all of it, beyond bounds, patterns and values',
      { id: 'x', name: '', seats: 0, kind: 'raft', tags: ['a', 'b', 'c'] },
      undefined,
    ],
    ['what nobody knew of', { id: 'boat_1', built: 1990 }, undefined],
    ['not a field of another type', { id: 7, name: 'Ida' }, { name: 'Ida' }],
    ['not a number that is not whole', { seats: 1.5 }, {}],
    ['not a list with an entry of another type', { tags: ['a', 7] }, {}],
    ['not what is wrong within a field', { owner: { name: 7, of: 'a' } }, { owner: { of: 'a' } }],
    ['null where it may be', { owner: null, name: null }, { owner: null }],
    ['nothing of a list', ['a'], {}],
    ['nothing of a text', 'a', {}],
    ['nothing of null', null, {}],
  ])('%s', (_case, body, expected) => {
    expect(structure(boat, body)).toEqual(expected ?? body);
  });

  it('a list, or a value of two types, under `result`', () => {
    expect(structure({ type: 'array', items: boat }, [{ id: 'a' }])).toEqual({ result: [{ id: 'a' }] });
    expect(structure({ type: ['object', 'array'] }, [])).toEqual({ result: [] });
    expect(structure({ type: 'string' }, 7)).toEqual({});
  });

  it('all fields by the alternative that leaves nothing out', () => {
    const kind = (type: string, more: object) => ({ type: 'object', properties: { type: { const: type }, ...more } });
    const schema = { oneOf: [kind('a', { size: { type: 'integer' } }), kind('b', { size: { type: 'string' } })] };
    expect(structure(schema, { type: 'b', size: 'XL' })).toEqual({ type: 'b', size: 'XL' });
    expect(structure(schema, { type: 'b', size: null })).toEqual({ type: 'b' });
  });

  it('the response object itself if nothing is left out, and never changes it', () => {
    const body = Object.freeze({ id: 'boat_1', owner: Object.freeze({ name: 'Ida' }) });
    expect(structure(boat, body)).toBe(body);
    const wrong = Object.freeze({ id: 7, owner: Object.freeze({ name: 7 }) });
    expect(structure(boat, wrong)).toEqual({ owner: {} });
  });

  it('a field called __proto__ without changing any prototype', () => {
    const body = JSON.parse('{"__proto__":{"a":1},"constructor":7,"id":7}') as object;
    const content = structure(boat, body);
    expect(Object.getPrototypeOf(content)).toBe(Object.prototype);
    expect(Object.keys(content ?? {}).toSorted()).toEqual(['__proto__', 'constructor']);
    expect(({} as { a?: number }).a).toBeUndefined();
  });
});

it('structured content matches the output schema for random schemas and bodies', () => {
  const type = fc.constantFrom('null', 'boolean', 'object', 'array', 'number', 'string', 'integer');
  const name = fc.constantFrom('a', 'b', 'result');
  const { schema } = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.record({ type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })) }),
      fc.record({ type: fc.constant('object'), properties: fc.dictionary(name, tie('schema')) }),
      fc.record({ additionalProperties: tie('schema'), required: fc.constant(['a']) }, { requiredKeys: [] }),
      fc.record({ type: fc.constant('array'), items: tie('schema') }),
      fc.record({ prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }), type }, { requiredKeys: ['anyOf'] }),
      fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      fc.record({ $ref: fc.constant('#/components/schemas/D') }),
    ),
  }));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 0, 1.5, 'a'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  const ajv = new Ajv2020({ strict: false, logger: false });
  let full = 0;
  fc.assert(
    fc.property(schema, schema, fc.array(value, { minLength: 5, maxLength: 5 }), (given, D, bodies) => {
      const tool = toolOf('GET /x', ok(given), { components: { schemas: { D } } });
      if (tool.outputSchema === undefined) return;
      const isValid = ajv.compile(tool.outputSchema);
      for (const body of bodies) {
        const content = tool.structure(body);
        expect([isValid(content), tool.outputSchema, body]).toEqual([true, tool.outputSchema, body]);
        if (Object.keys(content ?? {}).length > 0) full++;
      }
    }),
    { numRuns: 150 },
  );
  expect(full).toBeGreaterThan(80);
});
