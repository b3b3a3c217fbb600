/** Broken configurations: OpenAPI documents. */
import type { BrokenConfig, BrokenFiles } from './broken-config.js';

const GATEWAY = `services:
  shop: { targets: [http://127.0.0.1:4001], openapi: ./api.yaml }
plans: {}
`;
const OK = "responses: { '200': { description: ok } }";
const SECURED = `security: [{ key: [orders:read] }], ${OK}`;

/** Returns a configuration with this OpenAPI document. */
const document = (text: string, name = 'api.yaml'): BrokenFiles => ({
  'gateway.yaml': GATEWAY.replace('api.yaml', name),
  [name]: text,
});
/** Returns a configuration with an OpenAPI 3.1 document with these paths, which begin in line 4. */
const paths = (text: string, more = ''): BrokenFiles =>
  document(`openapi: 3.1.0\ninfo: { title: Shop, version: '1' }\npaths:\n${text}\n${more}`);
/** Returns a document with the operation GET /orders, in line 5. */
const get = (operation: string, more = '') => paths(`  /orders:\n    get: { ${operation} }`, more);
/** Returns an otherwise valid document with this schema, in line 6. */
const schema = (text: string) => get(SECURED, `components: { schemas: { A: ${text} } }`);

export const OPENAPI: readonly BrokenConfig[] = [
  // the file
  ['an empty document', document(''), 'api.yaml:1:1', 'is not an OpenAPI document: it is empty', 'the right file'],
  ['a list', document('- openapi\n'), 'api.yaml:1:1', 'it must be a map', 'the right file'],
  ['a text', document('openapi 3.1.0\n'), 'api.yaml:1:1', 'it must be a map', 'the right file'],
  [
    'HTML, as a wrong URL gives it',
    document('<!doctype html>\n<html><body>Not found</body></html>\n'),
    'api.yaml:1:1',
    'it must be a map',
    'the right file',
  ],
  ['broken YAML', document('openapi: 3.1.0\ninfo: {\n'), 'api.yaml:2:7', 'is not valid YAML', ''],
  [
    'broken JSON: a comma is missing',
    document('{\n  "openapi": "3.1.0"\n  "info": {}\n}', 'api.json'),
    'api.json:3:3',
    'is not valid JSON',
    'a comma',
  ],
  [
    'broken JSON: cut off',
    document('{\n  "openapi": "3.1.0",\n  "info": {', 'api.json'),
    'api.json:3:11',
    'is not valid JSON',
    'a bracket',
  ],
  [
    'broken JSON: a brace too many',
    document('{ "openapi": "3.1.0" }\n}', 'api.json'),
    'api.json:2:1',
    'is not valid JSON',
    'a bracket',
  ],
  [
    'JSON with a key twice',
    document('{ "openapi": "3.1.0", "info": {},\n "info": {} }', 'api.json'),
    'api.json:2:2',
    'the key `info` is in the same map twice',
    'keep one',
  ],
  [
    'two documents',
    document(`openapi: 3.1.0\n---\nopenapi: 3.1.0\n`),
    'api.yaml:2:1',
    'a second YAML document',
    'remove the line',
  ],
  [
    'UTF-16',
    document('') && { 'gateway.yaml': GATEWAY, 'api.yaml': Buffer.from('\u{feff}openapi: 3.1.0', 'utf16le') },
    'api.yaml:1:1',
    'is UTF-16',
    'iconv',
  ],
  [
    'Latin-1',
    { 'gateway.yaml': GATEWAY, 'api.yaml': Buffer.from('openapi: 3.1.0\ninfo: { title: Bücher }', 'latin1') },
    'api.yaml:2:17',
    'is not UTF-8',
    'iconv -f LATIN1',
  ],
  [
    'nesting without end',
    document(`openapi: 3.1.0\nx-a: ${'{a: '.repeat(10_000)}`),
    'api.yaml:2:807',
    'more than 200 maps and lists',
    'never closed',
  ],
  [
    'aliases without end',
    document(
      `openapi: 3.1.0\nx-a: &a [1,1,1,1,1,1,1,1,1]\n${[...'bcdefghi']
        .map(
          (name, index) =>
            `x-${name}: &${name} [${Array<string>(9)
              .fill(`*${String.fromCharCode(97 + index)}`)
              .join()}]`,
        )
        .join('\n')}`,
    ),
    'api.yaml:8:16',
    'repeat more than 2000000 values',
    'write out',
  ],
  [
    'an alias in itself',
    schema('&a { properties: { a: *a } }'),
    'api.yaml:6:51',
    '`*a` stands within the value',
    'in a circle',
  ],
  ['a tag', schema('!!js/undefined {}'), 'api.yaml:6:29', 'the tag `!!js/undefined` is not supported', 'remove it'],
  [
    '__proto__',
    schema('{ properties: { __proto__: { type: string } } }'),
    'api.yaml:6:45',
    '`__proto__` is not allowed',
    'another name',
  ],
  // its version
  [
    'no version',
    document('info: { title: Shop }\n'),
    'api.yaml:1:1',
    'has no `openapi` version',
    'write it at the top',
  ],
  ['Swagger', document('swagger: "2.0"\ninfo: {}\n'), 'api.yaml:1:10', 'has version 2.0', 'convert it'],
  [
    'OpenAPI 3.2',
    document('openapi: 3.2.0\ninfo: {}\n'),
    'api.yaml:1:10',
    'has version 3.2.0',
    'OpenAPI 3.0.x and 3.1.x are read',
  ],
  [
    'OpenAPI 4',
    document('openapi: 4.0.0\ninfo: {}\n'),
    'api.yaml:1:10',
    'has version 4.0.0',
    'OpenAPI 3.0.x and 3.1.x are read',
  ],
  ['a version as a number', document('openapi: 3.1\ninfo: {}\n'), 'api.yaml:1:10', 'has version 3.1', '"3.1.0"'],
  [
    'a version of words',
    document('openapi: latest\ninfo: {}\n'),
    'api.yaml:1:10',
    'has version latest',
    '3.1.x are read',
  ],
  [
    'a version that is a map',
    document('openapi: { version: 3.1.0 }\ninfo: {}\n'),
    'api.yaml:1:1',
    'has version that is no text',
    '3.1.x are read',
  ],
  [
    'the gateway.yaml itself',
    { 'gateway.yaml': GATEWAY.replace('api.yaml', 'gateway.yaml') },
    '1:1',
    'has no `openapi` version',
    'this is a gateway.yaml',
  ],
  // its structure
  ['no info', document(`openapi: 3.1.0\npaths: {}\n`), 'api.yaml:1:1', '`info` is missing', 'add `info`'],
  [
    'no paths in 3.0',
    document(`openapi: 3.0.3\ninfo: { title: Shop, version: '1' }\n`),
    'api.yaml:1:1',
    '`paths` is missing',
    'add `paths`',
  ],
  [
    'nothing at all in 3.1',
    document(`openapi: 3.1.0\ninfo: { title: Shop, version: '1' }\n`),
    'api.yaml:1:1',
    '`paths` is missing',
    'add `paths`',
  ],
  ['paths as a list', paths('  - /orders'), 'api.yaml:3:1', 'must be object', 'it is a map'],
  [
    'a title of the API as a number',
    document(`openapi: 3.1.0\ninfo: { title: 7, version: 1 }\npaths: {}\n`),
    'api.yaml:2:16',
    'must be string',
    'it is a text',
  ],
  [
    'an operation without responses',
    document(
      `openapi: 3.0.3\ninfo: { title: Shop, version: '1' }\npaths:\n  /orders:\n    get: { security: [{ key: [orders:read] }] }\n`,
    ),
    'api.yaml:5:5',
    '`responses` is missing',
    'add `responses`',
  ],
  [
    'a response without a description',
    get(`security: [{ key: [orders:read] }], responses: { '200': {} }`),
    'api.yaml:5:61',
    '`description` is missing',
    'add `description`',
  ],
  ['an operation that is empty', paths('  /orders:\n    get:'), 'api.yaml:5:5', 'must be object', 'it is a map'],
  ['an operation that is a text', paths('  /orders:\n    get: list'), 'api.yaml:5:10', 'must be object', 'it is a map'],
  [
    'a method in capitals',
    paths(`  /orders:\n    GET: { ${SECURED} }`),
    'api.yaml:5:5',
    'unknown key `GET`',
    'check the spelling',
  ],
  [
    'a method that there is not',
    paths(`  /orders:\n    fetch: { ${SECURED} }`),
    'api.yaml:5:5',
    'unknown key `fetch`',
    'check the spelling',
  ],
  ['a slip in a field', get(`${SECURED}, sumary: x`), 'api.yaml:5:91', 'unknown key `sumary`', 'check the spelling'],
  ['parameters as a map', get(`${SECURED}, parameters: { id: {} }`), 'api.yaml:5:91', 'must be array', 'it is a list'],
  [
    'a parameter without a place',
    get(`${SECURED}, parameters: [{ name: id, schema: {} }]`),
    'api.yaml:5:104',
    '`in` is missing',
    'add `in`',
  ],
  [
    'a parameter that is nowhere',
    get(`${SECURED}, parameters: [{ name: id, in: url, schema: {} }]`),
    'api.yaml:5:120',
    'must be one of query, header, path, cookie',
    '',
  ],
  [
    'a status that is none',
    get(`security: [{ key: [orders:read] }], responses: { ok: { description: x } }`),
    'api.yaml:5:61',
    'unknown key `ok`',
    '',
  ],
  [
    'five thousand mistakes',
    paths(Array.from({ length: 5_000 }, (_, index) => `  /o${index}: { get: 1 }`).join('\n')),
    'api.yaml:4:15',
    'must be object',
    'it is a map',
  ],
  // its operations
  [
    'a path without its slash',
    paths(`  orders:\n    get: { ${SECURED} }`),
    'api.yaml:4:3',
    'the path must begin with /',
    'write /orders',
  ],
  [
    'a path that is a URL',
    paths(`  https://shop.example.com/orders:\n    get: { ${SECURED} }`),
    'api.yaml:4:3',
    'the path must begin with /',
    'leave scheme and host out',
  ],
  [
    'a path twice',
    paths(`  /orders:\n    get: { ${SECURED} }\n  /orders:\n    put: { ${SECURED} }`),
    'api.yaml:6:3',
    'the key `/orders` is in the same map twice',
    'keep one',
  ],
  [
    'a path twice, its parameter called otherwise',
    paths(`  /orders/{id}:\n    get: { ${SECURED} }\n  /orders/{key}:\n    get: { ${SECURED} }`),
    'api.yaml:7:5',
    'matches the same requests',
    'remove one',
  ],
  [
    'an operationId twice',
    paths(`  /orders:\n    get: { operationId: list, ${SECURED} }\n    put: { operationId: list, ${SECURED} }`),
    'api.yaml:6:5',
    'the operation id `list` belongs to GET /orders',
    'another `id`',
  ],
  [
    'an empty operationId',
    get(`operationId: '', ${SECURED}`),
    'api.yaml:5:25',
    'the operationId must have 1 to 200 characters',
    'short name',
  ],
  [
    'an operationId with a line break',
    get(`operationId: "a\\nb", ${SECURED}`),
    'api.yaml:5:25',
    'the operationId must have 1 to 200',
    'short name',
  ],
  [
    'an operationId of a page',
    get(`operationId: ${'x'.repeat(500)}, ${SECURED}`),
    'api.yaml:5:25',
    'the operationId must have 1 to 200',
    'short name',
  ],
  [
    'an operationId that is a number',
    get(`operationId: 1, ${SECURED}`),
    'api.yaml:5:25',
    'must be string',
    'it is a text',
  ],
  [
    'a path of the gateway',
    paths(`  /usage:\n    get: { ${SECURED} }`),
    'api.yaml:5:5',
    '/usage is answered by the gateway itself',
    'another path',
  ],
  ['no security', get(OK), 'api.yaml:5:5', 'GET /orders names no scopes', 'name them in its `security`'],
  [
    'security by password alone',
    get(
      `security: [{ basic: [] }], ${OK}`,
      'components: { securitySchemes: { basic: { type: http, scheme: basic } } }',
    ),
    'api.yaml:5:5',
    'names no scopes',
    'name them in its `security`',
  ],
  ['security that may be left out', get(`security: [{}], ${OK}`), 'api.yaml:5:5', 'names no scopes', 'if any key may'],
  [
    'security with an alternative',
    get(`security: [{ key: [a:b] }, {}], ${OK}`),
    'api.yaml:5:12',
    'alternatives in `security` cannot be told apart',
    'one requirement',
  ],
  ['security that is a map', get(`security: { key: [a:b] }, ${OK}`), 'api.yaml:5:12', 'must be array', 'it is a list'],
  [
    'a scope without a verb',
    get(`security: [{ key: [read] }], ${OK}`),
    'api.yaml:5:31',
    'the scope `read` must be resource:verb',
    'lower-case',
  ],
  [
    'a scope of OAuth',
    get(`security: [{ key: ['https://example.com/auth/orders'] }], ${OK}`),
    'api.yaml:5:31',
    'must be resource:verb',
    'lower-case',
  ],
  [
    'a scope of the whole document',
    document(
      `openapi: 3.1.0\ninfo: { title: Shop, version: '1' }\nsecurity: [{ key: [READ] }]\npaths:\n  /orders:\n    get: { ${OK} }\n`,
    ),
    'api.yaml:3:20',
    'the scope `READ` must be resource:verb',
    'lower-case',
  ],
  [
    'a negative cost',
    get(`${SECURED}, x-trailgate-cost: -1`),
    'api.yaml:5:109',
    '`x-trailgate-cost` must be a whole number',
    'how many requests',
  ],
  [
    'half a cost',
    get(`${SECURED}, x-trailgate-cost: 1.5`),
    'api.yaml:5:109',
    'must be a whole number from 0 to 1000000',
    'how many requests',
  ],
  [
    'a cost in quotes',
    get(`${SECURED}, x-trailgate-cost: "5"`),
    'api.yaml:5:109',
    'must be a whole number from 0 to 1000000',
    'how many requests',
  ],
  // its references
  [
    'a reference to nothing',
    schema('{ $ref: "#/components/schemas/B" }'),
    'api.yaml:6:37',
    'names nothing in this document',
    '',
  ],
  [
    'a reference with a slip',
    schema('{ properties: { x: { $ref: "#/components/schema/A" } } }'),
    'api.yaml:6:56',
    'names nothing in this document',
    'what is meant',
  ],
  [
    'a reference to a schema of nearly that name',
    get(SECURED, 'components: { schemas: { Order: { properties: { next: { $ref: "#/components/schemas/Ordr" } } } } }'),
    'api.yaml:6:63',
    'names nothing',
    'did you mean `Order`?',
  ],
  [
    'a reference to another file',
    schema('{ $ref: ./order.yaml }'),
    'api.yaml:6:37',
    '`./order.yaml` leads outside of this document',
    'bundle',
  ],
  [
    'a reference out of the folder',
    schema('{ $ref: ../../../etc/passwd }'),
    'api.yaml:6:37',
    'leads outside of this document',
    'bundle',
  ],
  [
    'a reference to a URL',
    schema('{ $ref: https://example.com/order.yaml#/A }'),
    'api.yaml:6:37',
    'is a URL; remote references are not supported',
    'bundle',
  ],
  [
    'a reference to an anchor that there is not',
    schema('{ $ref: "#order" }'),
    'api.yaml:6:37',
    'names nothing in this document',
    '$anchor',
  ],
  ['an empty reference', schema('{ $ref: "" }'), 'api.yaml:6:37', 'leads outside of this document', 'bundle'],
  [
    'a broken reference',
    schema('{ $ref: "#/components/schemas/%zz" }'),
    'api.yaml:6:37',
    'names nothing in this document',
    '',
  ],
  [
    'a schema that is itself',
    schema('{ $ref: "#/components/schemas/A" }'),
    'api.yaml:6:37',
    'leads back to itself',
    'give way',
  ],
  [
    'schemas that are each other',
    schema('{ $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" }'),
    'api.yaml:6:37',
    'leads back to itself',
    'give way',
  ],
  [
    'a path item that is itself',
    paths('  /orders: { $ref: "#/paths/~1orders" }'),
    'api.yaml:4:20',
    'leads back to itself',
    'give way',
  ],
  [
    'path items that are each other',
    paths('  /a: { $ref: "#/paths/~1b" }\n  /b: { $ref: "#/paths/~1a" }'),
    'api.yaml:4:15',
    'leads back to itself',
    'give way',
  ],
  [
    'path items of 3.1 in a circle',
    paths(
      '  /a: { $ref: "#/components/pathItems/A" }',
      'components: { pathItems: { A: { $ref: "#/components/pathItems/B" }, B: { $ref: "#/components/pathItems/A" } } }',
    ),
    'api.yaml:5:39',
    'leads back to itself',
    'give way',
  ],
  [
    'parameters in a circle',
    get(
      `${SECURED}, parameters: [{ $ref: "#/components/parameters/A" }]`,
      'components: { parameters: { A: { $ref: "#/components/parameters/B" }, B: { $ref: "#/components/parameters/A" } } }',
    ),
    'api.yaml:6:40',
    'leads back to itself',
    'give way',
  ],
  [
    'a parameter of its own list',
    get(`${SECURED}, parameters: [{ $ref: "#/paths/~1orders/get/parameters/0" }]`),
    'api.yaml:5:112',
    'leads back to itself',
    'give way',
  ],
  [
    'responses in a circle',
    get(
      `security: [{ key: [a:b] }], responses: { '200': { $ref: "#/components/responses/A" } }`,
      'components: { responses: { A: { $ref: "#/components/responses/A" } } }',
    ),
    'api.yaml:6:39',
    'leads back to itself',
    'give way',
  ],
  [
    'references one behind the other',
    get(
      SECURED,
      `components: { schemas: { ${Array.from({ length: 50 }, (_, index) => `A${index}: { $ref: "#/components/schemas/A${index + 1}" }`).join()}, A50: {} } }`,
    ),
    'api.yaml:6:38',
    'is a chain of more than 32 references',
    'give way',
  ],
  [
    'a parameter that is a schema',
    get(
      `${SECURED}, parameters: [{ $ref: "#/components/schemas/A" }]`,
      'components: { schemas: { A: { type: string } } }',
    ),
    'api.yaml:5:112',
    'names no parameter',
    '`name` and `in`',
  ],
  [
    'a path item beside its reference',
    paths(`  /a: { get: { ${SECURED} } }\n  /b: { $ref: "#/paths/~1a", put: { ${SECURED} } }`),
    'api.yaml:5:30',
    '`put` beside a `$ref` is not read',
    'move it',
  ],
];
