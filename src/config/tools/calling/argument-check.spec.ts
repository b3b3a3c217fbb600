/** Checks arguments like Ajv, with messages that an assistant can act on, in bounded time. */
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { parseExact } from '../../../platform/json/exact-json.js';
import { cpuMsOf } from '../../../../test/support/cpu-time.js';
import { LONG_DIGITS } from '../tool.js';
import { checkArguments } from './argument-check.js';

const object = (properties: object, more: object = {}) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
});
const messagesOf = (args: unknown, schema: object): string[] =>
  checkArguments(args, schema as Record<string, unknown>).map(({ field, detail }) => `${field}: ${detail}`);

describe('a string of digits', () => {
  const DIGITS = '1234567890123456789';
  // The tool schema also accepts a string, so that long numbers keep their digits.
  const int64 = { type: ['integer', 'string'], format: 'int64', pattern: LONG_DIGITS };
  const corrected = (schema: object, value: unknown): string => {
    const args = { a: value };
    expect(messagesOf(args, object({ a: schema }))).toEqual([]);
    return JSON.stringify(args);
  };

  it.each([
    ['where only a whole number fits', { type: 'integer' }],
    ['where its tool allows a text for the sake of the digits', int64],
    ['beside null', { type: ['integer', 'null'] }],
    ['in an alternative', { anyOf: [{ type: 'null' }, int64] }],
  ])('is converted to a whole number %s', (_case, schema) => {
    expect(corrected(schema, DIGITS)).toBe(`{"a":${DIGITS}}`);
    expect(corrected({ type: 'array', items: schema }, [1, DIGITS])).toBe(`{"a":[1,${DIGITS}]}`);
  });

  it.each([
    ['may be a text', { type: ['integer', 'string'] }],
    ['may be anything', {}],
    ['may be a text by one alternative', { anyOf: [{ type: 'integer' }, { type: 'string' }] }],
    ['has to be there', { type: 'string' }],
    ['is only asked about', { not: { type: 'integer' } }],
  ])('stays a string where it %s', (_case, schema) => {
    expect(corrected(schema, DIGITS)).toBe(`{"a":"${DIGITS}"}`);
  });

  it.each(['5', '0', '-7'])('%s is converted to a whole number if the schema of its tool allows it', (text) => {
    const args = { a: text };
    expect([messagesOf(args, object({ a: int64 })), JSON.stringify(args)]).toEqual([[], `{"a":${text}}`]);
  });

  it.each(['me', '1.5', '05', ''])('%j is refused where a whole number is expected', (text) => {
    expect(messagesOf({ a: text }, object({ a: int64 }))).toEqual(['a: must be a whole number, not a text']);
  });

  it('stays a string where the OpenAPI document itself allows strings', () => {
    for (const text of ['me', '5', DIGITS])
      expect(corrected({ type: ['integer', 'string'], format: 'int64' }, text)).toBe(`{"a":"${text}"}`);
  });

  it('that is a field name is not converted', () => {
    const schema = { type: 'object', propertyNames: { type: 'integer' } };
    const args = { a: { [DIGITS]: { qty: 1 } } };
    expect(messagesOf(args, object({ a: schema }))).not.toEqual([]);
    expect(JSON.stringify(args)).toBe(`{"a":{"${DIGITS}":{"qty":1}}}`);
  });
});

describe('null', () => {
  const inner = object(
    { id: { type: 'string' }, note: { type: ['string', 'null'] }, size: { type: 'integer' } },
    { required: ['id'] },
  );

  it.each([
    ['of an argument that need not be given is left out', { a: { type: 'integer' } }, '{"a":null}', '{}'],
    [
      'is left out within objects and lists',
      { o: { type: 'array', items: inner } },
      '{"o":[{"id":"x","size":null}]}',
      '{"o":[{"id":"x"}]}',
    ],
    ['stays where the schema has it', { o: inner }, '{"o":{"id":"x","note":null}}', '{"o":{"id":"x","note":null}}'],
    ['stays where anything may stand', { a: {} }, '{"a":null}', '{"a":null}'],
  ])('%s', (_case, properties, sent, left) => {
    const args: unknown = JSON.parse(sent);
    expect([messagesOf(args, object(properties)), JSON.stringify(args)]).toEqual([[], left]);
  });

  it('for a required field is refused', () => {
    expect(messagesOf({ o: { id: null } }, object({ o: inner }))).toEqual(['o.id: must be a text, not null']);
  });
});

describe('a problem is reported in words, with its field', () => {
  const contact = {
    type: ['object', 'null'],
    required: ['name'],
    properties: { name: { type: 'string' } },
    additionalProperties: false,
  };
  it.each([
    [{ type: 'integer' }, '7', 'must be a whole number, not a text'],
    [{ type: 'integer' }, 1.5, 'must be a whole number, not 1.5'],
    [{ type: 'integer' }, 'NaN', 'must be a whole number, not a text'],
    [{ type: 'integer' }, parseExact('1.50'), 'must be a whole number, not 1.50'],
    [{ type: 'string' }, parseExact('1.50'), 'must be a text, not 1.50'],
    [{ type: 'object' }, parseExact('1.50'), 'must be an object, not 1.50'],
    [{ type: 'integer', maximum: 100 }, '12345678901234567890', 'must be at most 100'],
    [{ maximum: 1 }, parseExact('1.10'), 'must be at most 1'],
    [{ enum: [1, 2] }, parseExact('3.0'), 'must be one of 1, 2'],
    [{ type: ['string', 'null'] }, [], 'must be a text or null, not a list'],
    [{ type: 'object' }, null, 'must be an object, not null'],
    [{ type: 'boolean' }, {}, 'must be true or false, not an object'],
    [{ enum: ['a', 'b', null] }, 'c', 'must be one of a, b, null'],
    [
      { enum: Array.from({ length: 30 }, (_, index) => index) },
      99,
      expect.stringMatching(/^must be one of 0, 1, .*, 19 and 10 more$/),
    ],
    [{ const: 'a' }, 'b', 'must be a'],
    [{ minimum: 1 }, 0, 'must be at least 1'],
    [{ maximum: 100 }, 101, 'must be at most 100'],
    [{ exclusiveMinimum: 0 }, 0, 'must be more than 0'],
    [{ exclusiveMaximum: 9 }, 9, 'must be less than 9'],
    [{ multipleOf: 0.1 }, 0.35, 'must be a multiple of 0.1'],
    [{ minLength: 1 }, '', 'must not be empty'],
    [{ minLength: 3 }, '\u{1f6a3}\u{1f6a3}', 'must have at least 3 characters'],
    [{ maxLength: 2 }, 'abc', 'must have at most 2 characters'],
    [{ pattern: '^[a-z]+$' }, 'A', 'must match ^[a-z]+$'],
    [{ format: 'date' }, '1.5.2027', 'must be a date such as 2027-01-31'],
    [{ format: 'email' }, 'anna', 'must be an email address'],
    [{ type: 'array', minItems: 1 }, [], 'must not be an empty list'],
    [{ type: 'array', maxItems: 1 }, [1, 2], 'must have at most 1 entries'],
    [{ type: 'array', uniqueItems: true }, [{ a: 1 }, { a: 1 }], 'must not have the same entry twice'],
    [{ type: 'object', minProperties: 1 }, {}, 'must have at least 1 field'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, [], 'must be a text, not a list or a number, not a list'],
    [
      { anyOf: [{ format: 'date' }, { format: 'date-time' }] },
      'x',
      expect.stringMatching(/^must be a date such as .* or a time with its zone/),
    ],
    [{ anyOf: [{ required: ['a'] }, { required: ['b'] }] }, {}, 'matches none of the allowed alternatives'],
    [{ not: { type: 'string' } }, 'x', 'must not be as it is'],
    [false, 'x', 'must not be given'],
  ])('for schema %j and value %j', (schema, value, detail) => {
    const [first, ...others] = checkArguments({ q: value }, object({ q: schema }, { required: ['q'] }));
    expect(others).toEqual([]);
    expect(first).toEqual({ field: 'q', detail });
  });

  it.each([
    [{ q: { name: 7 } }, ['q.name: must be a text, not 7']],
    [{ q: {} }, ['q.name: is required']],
    [{ q: { name: 'a', nmae: 'b' } }, ['q.nmae: is not known']],
    [{ list: [{ name: 'a' }, null, { name: [] }] }, ['list[2].name: must be a text, not a list']],
    [{ lisst: [] }, ['lisst: is no argument of this tool: did you mean `list`?']],
    [
      { q: null, constructor: 1, toString: 2 },
      ['constructor: is no argument of this tool', 'toString: is no argument of this tool'],
    ],
  ])('for arguments %j', (args, said) => {
    expect(messagesOf(args, object({ q: contact, list: { type: 'array', items: contact } }))).toEqual(said);
  });

  it('for a nullable object, about the given object', () => {
    const schema = object({
      q: { anyOf: [{ type: 'null' }, object({ a: { type: 'integer' } }, { required: ['a'] })] },
    });
    expect(messagesOf({ q: { a: 'x', b: 1 } }, schema)).toEqual([
      'q.a: must be a whole number, not a text',
      'q.b: is not known',
    ]);
  });

  it('for each problem, up to ten', () => {
    const names = Array.from({ length: 30 }, (_, index) => `f${index}`);
    const schema = object(Object.fromEntries(names.map((name) => [name, { type: 'integer' }])));
    const wrong = (count: number) => Object.fromEntries(names.slice(0, count).map((name) => [name, 'x']));
    expect(checkArguments(wrong(7), schema)).toHaveLength(7);
    expect(checkArguments(wrong(30), schema)).toHaveLength(10);
    expect(checkArguments({}, { ...schema, required: names })).toHaveLength(10);
  });
});

describe('hostile arguments', () => {
  const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
  it.each([
    ['nested', nested(65), 'are nested deeper than 64 levels'],
    ['nested by far', nested(5_000), 'are nested deeper than 64 levels'],
    [
      'with a name that is the prototype',
      JSON.parse('{"a":{"__proto__":{"b":1}}}'),
      'have the name `__proto__`, which no field has',
    ],
    ['with a number that JSON has none of', parseExact('{"a":1e999}'), 'have a number that is too large'],
  ])('%s are refused', (_case, args, detail) => {
    expect(checkArguments(args, { type: 'object' })).toEqual([{ field: '', detail }]);
    expect(({} as { b?: unknown }).b).toBeUndefined();
  });

  it.each([[undefined], [null], ['text'], [[]], [7]])('%j instead of an object are refused', (args) => {
    expect(checkArguments(args, object({}))).toHaveLength(1);
  });

  it.each([
    [
      'a list of alternatives',
      { type: 'array', items: { anyOf: Array.from({ length: 100 }, (_, at) => ({ const: at })) } },
      Array(300_000).fill('x'),
    ],
    [
      'a long list of things that differ',
      { type: 'array', uniqueItems: true },
      Array.from({ length: 300_000 }, () => ({})),
    ],
    ['a text for a pattern that takes for ever', { type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(50)}!`],
    [
      'a long text for one that takes with its square',
      { type: 'string', pattern: '^.*a.*a.*a.*b$' },
      'a'.repeat(500_000),
    ],
    ['a number with an exponent of a million digits', { type: 'integer' }, parseExact(`1e-${'9'.repeat(900_000)}`)],
    [
      'many names for a pattern',
      { type: 'object', patternProperties: { '^(x+)+$': { type: 'string' } } },
      Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`${'x'.repeat(40)}${at}`, 1])),
    ],
  ])('such as %s are checked within a second', (_case, schema, value) => {
    expect(cpuMsOf(() => checkArguments({ q: value }, object({ q: schema })))).toBeLessThan(1_000);
  });

  it('for a schema that contains itself in two ways are checked within a second', () => {
    const $defs = {
      E: {
        oneOf: ['and', 'or'].map((op) =>
          object({ op: { const: op }, a: { $ref: '#/$defs/E' }, b: { $ref: '#/$defs/E' } }),
        ),
      },
    };
    let value: unknown = { op: 'xor' };
    for (let depth = 0; depth < 60; depth++) value = { op: 'and', a: value };
    const schema = { ...object({ q: { $ref: '#/$defs/E' } }), $defs };
    expect(cpuMsOf(() => checkArguments({ q: value }, schema))).toBeLessThan(1_000);
  });
});

describe('compared with Ajv', () => {
  const scalar = fc.oneof(
    fc.constantFrom(null, true, false, 0, 1, -1, 1.5, 100, '', 'a', 'ab', 'A', 'é\u{1f6a3}', '2027-01-31'),
    fc.integer({ min: -9, max: 9 }),
  );
  const name = fc.constantFrom('a', 'b', 'constructor', 'c1');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      scalar,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  const type = fc.constantFrom('null', 'boolean', 'object', 'array', 'number', 'string', 'integer');
  const { schema } = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.boolean(),
      fc.record({ type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })) }),
      fc.record({ enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 4 }) }),
      fc.record({ const: value }),
      fc.record(
        { minimum: fc.integer({ min: -2, max: 2 }), exclusiveMaximum: fc.integer({ min: 0, max: 5 }) },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          maximum: fc.integer({ min: 0, max: 5 }),
          exclusiveMinimum: fc.constant(0),
          multipleOf: fc.constantFrom(0.5, 2),
        },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          minLength: fc.nat(3),
          maxLength: fc.nat(3),
          pattern: fc.constantFrom('^a', '[a-z]', '^.$', '^(ab?|A)$'),
          format: fc.constantFrom('date', 'unknown'),
        },
        { requiredKeys: [] },
      ),
      fc.record({ minItems: fc.nat(2), maxItems: fc.nat(3), uniqueItems: fc.boolean() }, { requiredKeys: [] }),
      fc.record(
        { items: tie('schema'), prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) },
        { requiredKeys: [] },
      ),
      fc.record(
        { contains: tie('schema'), minContains: fc.nat(2), maxContains: fc.nat(3) },
        { requiredKeys: ['contains'] },
      ),
      fc.record(
        {
          properties: fc.dictionary(name, tie('schema'), { noNullPrototype: true }),
          required: fc.uniqueArray(name, { maxLength: 2 }),
          additionalProperties: tie('schema'),
        },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          patternProperties: fc.record({ '^c': tie('schema') }),
          propertyNames: tie('schema'),
          minProperties: fc.nat(2),
          maxProperties: fc.nat(3),
        },
        { requiredKeys: [] },
      ),
      fc.record(
        { dependentRequired: fc.record({ a: fc.constant(['b']) }), dependentSchemas: fc.record({ b: tie('schema') }) },
        { requiredKeys: [] },
      ),
      fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ not: tie('schema') }),
      fc.record(Object.fromEntries(['if', 'then', 'else'].map((word) => [word, tie('schema')])), {
        requiredKeys: ['if'],
      }),
      fc.record({ type: fc.constant('array'), items: fc.constant({ $ref: '#/$defs/D' }) }),
    ),
  }));

  it('accepts exactly the same values for random schemas', () => {
    const ajv = new Ajv2020({
      strict: false,
      ownProperties: true,
      logger: false,
      formats: { date: /^\d{4}-[01]\d-[0-3]\d$/ },
    });
    let [valid, invalid] = [0, 0];
    fc.assert(
      fc.property(schema, schema, value, (q, D, sent) => {
        const whole = { type: 'object', properties: { q }, required: ['q'], $defs: { D } };
        // Accepted arguments may have been corrected: a null for an optional field is removed.
        const args = structuredClone({ q: sent });
        const isAccepted = checkArguments(args, whole).length === 0;
        const isValid = ajv.compile(whole)(args);
        if (isValid) valid++;
        else invalid++;
        expect([isAccepted, whole, sent]).toEqual([isValid, whole, sent]);
      }),
      { numRuns: 300 },
    );
    expect(Math.min(valid, invalid)).toBeGreaterThan(40);
  });
});
