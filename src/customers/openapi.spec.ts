/** `customers.openapi.yaml` and the code agree on names, rules and examples. */
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { parse } from 'yaml';
import { ACTIVITIES, ID_PATTERN, STATUSES, toJson } from './model/customer.js';
import { CustomerParser } from './customer.schema.js';
import { RequestError } from './errors.js';
import { parseListQuery } from './list-query.js';
import { inventCustomers } from './seed/invent-customers.js';

interface Schema {
  readonly required?: string[];
  readonly properties?: Record<string, Schema>;
  readonly [keyword: string]: unknown;
}
interface Operation {
  readonly operationId: string;
  readonly security: Record<string, string[]>[];
  readonly parameters?: { readonly name?: string; readonly $ref?: string }[];
  readonly requestBody?: { content: Record<string, { examples: Record<string, { value: unknown }> }> };
  readonly responses: Record<string, { readonly $ref?: string }>;
}

const text = readFileSync('customers.openapi.yaml', 'utf8');
const document = parse(text) as {
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, { name: string; schema: Schema }>;
    responses: Record<string, { content: Record<string, { schema: { $ref: string } }> }>;
    examples: Record<string, { value: unknown }>;
  };
};
const { schemas, parameters, responses, examples } = document.components;
const parser = new CustomerParser({ now: () => Date.parse('2026-11-20T12:00:00Z') });
const operation = (path: string, method: string): Operation => {
  const found = document.paths[path]?.[method];
  if (found === undefined) throw new Error(`no ${method} ${path}`);
  return found;
};
const keysOf = (value: unknown) => Object.keys(value as object).toSorted();
/** Returns the names of the fields or parameters that the code refuses. */
function fieldsOf(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof RequestError) return error.fields.map((one) => ('field' in one ? one.field : one.parameter));
    throw error;
  }
  return [];
}

describe('customers.openapi.yaml', () => {
  it('is a valid OpenAPI 3.1 document', async () => {
    const result = await new Validator().validate(document);
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
  });

  it.each([
    ['/customers', 'get', 'listCustomers', 'customers:read'],
    ['/customers', 'post', 'createCustomer', 'customers:write'],
    ['/customers/{id}', 'get', 'getCustomer', 'customers:read'],
    ['/customers/{id}', 'patch', 'updateCustomer', 'customers:write'],
    ['/customers/{id}', 'delete', 'deleteCustomer', 'customers:write'],
  ])('%s %s is %s and needs %s', (path, method, operationId, scope) => {
    expect(operation(path, method)).toMatchObject({ operationId, security: [{ bearerAuth: [scope] }] });
  });

  it('describes exactly the fields of a customer', () => {
    const [customer] = inventCustomers('acc_a', 1, Date.parse('2026-11-20T12:00:00Z'));
    const names = customer === undefined ? [] : keysOf(toJson(customer));
    expect(keysOf(schemas['Customer']?.properties)).toEqual(names);
    expect(schemas['Customer']?.required?.toSorted()).toEqual(names);
    expect(keysOf(examples['Customer']?.value)).toEqual(names);
  });

  it('describes exactly the fields that can be sent, and those that are required', () => {
    for (const name of ['CustomerCreate', 'CustomerUpdate']) {
      const sent = keysOf(schemas[name]?.properties);
      // The parser knows each of these fields, so it refuses only their values.
      const nonsense = Object.fromEntries(sent.map((field) => [field, { nonsense: true }]));
      expect(
        fieldsOf(() => parser.parseUpdate(nonsense))
          .filter((field) => !field.includes('.'))
          .toSorted(),
      ).toEqual(sent.filter((field) => field !== 'emergency_contact'));
      expect(fieldsOf(() => parser.parseUpdate({ ...nonsense, id: 'x' }))).toContain('id');
    }
    expect(keysOf(schemas['CustomerCreate']?.properties)).toEqual(
      keysOf(parser.parseCreate(createExample('complete'))),
    );
    expect(schemas['CustomerCreate']?.required).toEqual(fieldsOf(() => parser.parseCreate({})));
  });

  // In the description, because generators treat a field with a `default` as required.
  it('names the default values in descriptions', () => {
    const described = Object.entries(schemas['CustomerCreate']?.properties ?? {}).flatMap(([field, schema]) => {
      expect(schema).not.toHaveProperty('default');
      const [, value] = /`([^`]+)` unless given\.$/.exec(String(schema['description'])) ?? [];
      return value === undefined ? [] : [[field, parse(value) as unknown]];
    });
    const {
      first_name: _first,
      last_name: _last,
      email: _email,
      ...filledIn
    } = parser.parseCreate(createExample('smallest'));
    expect(Object.fromEntries(described)).toEqual(filledIn);
  });

  it('lists the values and patterns that the code enforces', () => {
    expect(schemas['Activity']?.['enum']).toEqual(ACTIVITIES);
    expect(schemas['CustomerStatus']?.['enum']).toEqual(STATUSES);
    expect(schemas['CustomerId']?.['pattern']).toBe(ID_PATTERN.source);
    const longest = { first_name: 'FirstName', last_name: 'LastName', notes: 'Notes' };
    for (const [field, schema] of Object.entries(longest)) {
      const length = Number(schemas[schema]?.['maxLength']);
      expect(fieldsOf(() => parser.parseUpdate({ [field]: 'x'.repeat(length) }))).toEqual([]);
      expect(fieldsOf(() => parser.parseUpdate({ [field]: 'x'.repeat(length + 1) }))).toEqual([field]);
    }
  });

  it.each([
    [
      'FirstName',
      'first_name',
      ['Anna', ' Anna ', 'Łukasz', '\u{1f6a3}'.repeat(100)],
      ['', ' ', 'a\tb', 'a\u0085', '\ufeff'],
    ],
    [
      'Email',
      'email',
      ["o'hara@example.com", 'A+b@x-y.example.co'],
      ['a@b', 'a b@example.com', 'ä@example.com', `${'x'.repeat(243)}@example.com`],
    ],
    ['Notes', 'notes', ['', 'a\tb\r\nc'], ['a\u0000', 'a\u000b', 'a\u009f']],
    ['PhoneNumber', 'phone', ['+436641234567'], ['+0123456', '00436641234567', '+4366412345678901']],
    [
      'Language',
      'language',
      ['de', 'de-AT', 'sr-Latn-RS', 'de-u-co-phonebk'],
      ['d', 'german-', 'de_AT', 'i-klingon', ''],
    ],
  ])('%s has the pattern and length that the code enforces', (schema, field, good, bad) => {
    const { pattern, maxLength } = schemas[schema] ?? {};
    const isDescribed = (value: string) =>
      new RegExp(String(pattern), 'u').test(value) && [...value].length <= Number(maxLength);
    const isTaken = (value: string) => fieldsOf(() => parser.parseUpdate({ [field]: value })).length === 0;
    for (const value of good) expect([value, isDescribed(value), isTaken(value)]).toEqual([value, true, true]);
    for (const value of bad) expect([value, isDescribed(value), isTaken(value)]).toEqual([value, false, false]);
  });

  it.each([
    ['email', ['a@b.c', 'x'.repeat(254)], ['x'.repeat(255), ' ', 'a\u0000']],
    ['search', ['anna', '\u{1f6a3}'.repeat(100)], ['x'.repeat(101), '\t', ' ']],
  ])('the filter %s has the pattern and length that the code enforces', (name, good, bad) => {
    const found = operation('/customers', 'get').parameters?.find((one) => one.name === name);
    const { pattern, maxLength } = (found as unknown as { schema: Schema }).schema;
    const isDescribed = (value: string) =>
      new RegExp(String(pattern), 'u').test(value) && [...value].length <= Number(maxLength);
    const isTaken = (value: string) => fieldsOf(() => parseListQuery({ [name]: value })).length === 0;
    for (const value of good) expect([value, isDescribed(value), isTaken(value)]).toEqual([value, true, true]);
    for (const value of bad) expect([value, isDescribed(value), isTaken(value)]).toEqual([value, false, false]);
  });

  it('describes exactly the list parameters, with the bounds and default of limit', () => {
    const names = operation('/customers', 'get').parameters?.map(
      ({ name, $ref }) => name ?? parameters[$ref?.split('/').at(-1) ?? '']?.name ?? '',
    );
    const nonsense = Object.fromEntries((names ?? []).map((name) => [name, ['a', 'b']]));
    expect(fieldsOf(() => parseListQuery({ ...nonsense, other: 'x' }))).toEqual([...(names ?? []), 'other']);
    const { minimum, maximum, default: standard } = parameters['Limit']?.schema ?? {};
    expect(parseListQuery({}).limit).toBe(standard);
    expect([minimum, maximum].map((limit) => parseListQuery({ limit: `${limit}` }).limit)).toEqual([1, 100]);
    expect(fieldsOf(() => parseListQuery({ limit: `${Number(maximum) + 1}` }))).toEqual(['limit']);
  });

  it('shows only examples that the code accepts', () => {
    for (const [name, { value }] of Object.entries(bodyExamples('post'))) {
      expect([name, fieldsOf(() => parser.parseCreate(value))]).toEqual([name, []]);
    }
    for (const [name, { value }] of Object.entries(bodyExamples('patch'))) {
      expect([name, fieldsOf(() => parser.parseUpdate(value))]).toEqual([name, []]);
    }
  });

  it('describes every 4xx response as application/problem+json', () => {
    for (const response of Object.values(responses)) {
      expect(response.content).toMatchObject({
        'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
      });
    }
    for (const path of Object.values(document.paths).flatMap((item) => Object.values(item))) {
      const refusals = Object.entries(path.responses ?? {}).filter(([status]) => status.startsWith('4'));
      for (const [, response] of refusals) expect(response.$ref).toMatch(/^#\/components\/responses\//);
    }
  });
});

function bodyExamples(method: 'post' | 'patch'): Record<string, { value: unknown }> {
  const path = method === 'post' ? '/customers' : '/customers/{id}';
  return operation(path, method).requestBody?.content['application/json']?.examples ?? {};
}

function createExample(name: string): unknown {
  return bodyExamples('post')[name]?.value;
}
