/** Common deviations of real OpenAPI documents from the standard are accepted. */
import { describe, expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI, problemsOf, warningsOf } from '../../../test/support/config-files.js';

const files = (document: string, name = 'customers.yaml') => ({
  'gateway.yaml': MINIMAL.replace('customers.yaml', name),
  [name]: document,
});
const withInfo = (info: string) => files(OPENAPI.replace("info: { title: Customers, version: '1' }", info));

describe('info.version', () => {
  it.each([
    ['1.10', '1.10'],
    ['1.0', '1.0'],
    ['2', '2'],
    ['0x10', '0x10'],
    ['2026-01-27', '2026-01-27'],
    ['"1.10"', '1.10'],
  ])('%s is read as the text %s', async (written, text) => {
    const { documents } = await configOf(withInfo(`info: { title: Customers, version: ${written} }`));
    expect(documents.get('customers')).toMatchObject({ info: { title: 'Customers', version: text } });
  });

  it('is read as text in JSON too', async () => {
    const document = '{"openapi":"3.0.3","info":{"title":"T","version":1.10},"paths":{}}';
    const gateway = files(document, 'customers.json');
    expect((await configOf(gateway)).documents.get('customers')).toMatchObject({ info: { version: '1.10' } });
  });

  it('of another type is refused, with no other problem', async () => {
    const problems = await problemsOf(withInfo('info: { title: Customers, version: [1] }'));
    expect(problems.map(({ path, message }) => [path, message])).toEqual([
      ['info.version', 'is not valid OpenAPI: must be string'],
    ]);
  });
});

describe('a reference to a path template', () => {
  const reference = (text: string) =>
    files(`${OPENAPI.replace('components:', `  /c/{id}: { $ref: '${text}' }\ncomponents:`)}`);

  it.each(['#/paths/~1customers~1{id}', '#/paths/~1customers~1%7Bid%7D'])('%s is followed', async (text) => {
    const { operations } = await configOf(reference(text));
    expect(operations.map(({ method, template }) => `${method} ${template}`)).toContain('GET /c/{id}');
  });

  it('that names nothing is refused', async () => {
    const [problem, ...others] = await problemsOf(reference('#/paths/~1customers~1{key}'));
    expect(problem?.message).toBe('`#/paths/~1customers~1{key}` names nothing in this document');
    expect(others).toEqual([]);
  });

  it('is left unchanged inside an example', async () => {
    const example = "Pet: { type: object, example: { $ref: '#/{id}' } }";
    const document = OPENAPI.replace('  securitySchemes', `  schemas: { ${example} }\n  securitySchemes`);
    const read = (await configOf(files(document))).documents.get('customers');
    expect(JSON.stringify(read)).toContain('"#/{id}"');
  });
});

describe('an entry of discriminator.mapping', () => {
  const mapped = (mapping: string) => {
    const schemas = `schemas: { Cat: {}, Pet: { discriminator: { propertyName: kind, mapping: ${mapping} } } }`;
    return files(OPENAPI.replace('  securitySchemes', `  ${schemas}\n  securitySchemes`));
  };

  it('stays if it is the name of a schema with a dot', async () => {
    const given = mapped('{ cat: v1.Cat }');
    const document = String(given['customers.yaml']).replace('schemas: { Cat: {}', 'schemas: { v1.Cat: {}');
    const dotted = { ...given, 'customers.yaml': document };
    expect(await warningsOf(dotted)).toEqual([]);
    expect((await configOf(dotted)).documents.get('customers')).toMatchObject({
      components: { schemas: { Pet: { discriminator: { mapping: { cat: 'v1.Cat' } } } } },
    });
  });

  it.each([
    ['./b.yaml', 'leads outside of this document, so the entry is left out'],
    ['"#/components/schemas/B"', 'names nothing in this document, so the entry is left out'],
  ])('%s is left out with a warning, and the others stay', async (target, message) => {
    const given = mapped(`{ cat: "#/components/schemas/Cat", b: ${target}, dog: Dog }`);
    expect((await warningsOf(given)).map((warning) => warning.message)).toEqual([expect.stringContaining(message)]);
    const mapping = { cat: '#/components/schemas/Cat', dog: 'Dog' };
    expect((await configOf(given)).documents.get('customers')).toMatchObject({
      components: { schemas: { Pet: { discriminator: { propertyName: 'kind', mapping } } } },
    });
    expect(JSON.stringify((await configOf(given)).documents.get('customers'))).not.toContain('"b":');
  });
});
