/** `loadConfig` reports all problems at once, each with its line and a hint. */
import { basename } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI, problemsOf } from '../../test/support/config-files.js';
import type { ConfigProblem } from './model/problem.js';

/** `gateway.yaml:3 message` for each problem. */
function lines(problems: readonly ConfigProblem[]): string[] {
  return problems.map((problem) => `${basename(problem.file)}:${problem.line} ${problem.message}`);
}

/** Minimal documents of one path, to be varied. */
function withPaths(paths: string): string {
  return `openapi: 3.0.3\ninfo: { title: T, version: '1' }\nsecurity: [{ key: ['a:b'] }]\npaths:\n${paths}`;
}
const OK = `responses: { '200': { description: ok } }`;

const MANY_MISTAKES = `gateway: { port: 70000, tls: { cert: ./none.crt, key: ./none.key } }
admin: { hots: "\${ADMIN_HOST}" }
api:
  deprecation: 2027-06-01
  sunset: 2027-01-01
services:
  customers:
    target: [http://127.0.0.1:4001]
    openapi: ./customers.yaml
  bookings:
    targets: ["http://user:pw@127.0.0.1:1", "http://127.0.0.1/?a=b", ftp://x]
    maxBodyBytes: lots
    timeouts: { connect: fast, idle: 0s }
    authenticates: ja
  loop:
    targets: [http://localhost:8081/]
operations:
  - match: GET /customers
    service: custommers
  - match: GET /boats
  - match: FETCH /boats
  - { match: GET /usage, service: loop, scopes: [] }
  - { match: GET /a//b, service: loop, scopes: [Boats] }
plans:
  starter: { key: { minute: -1 }, acount: { month: 5 } }
  pro: { onRedisLoss: opne }
  free: {}
  free: {}
  Pro: {}
evnets: []
`;

const WRONG_OPENAPI = `openapi: 3.1.1
info: { title: Customers, version: '1' }
paths:
  /customers:
    get: { responses: { '200': { description: ok } } }
    post:
      security: [{ key: [a:b] }, { key: [c:d] }]
      responses: { '200': { descripton: ok } }
  /customers/{id}:
    get: { security: [{ key: [read] }], responses: { '200': { $ref: './other.yaml' } } }
  /customers/{key}:
    get: { security: [{ key: [a:b] }], x-trailgate-cost: -1, \
responses: { '200': { $ref: '#/components/responses/None' } } }
  /customers/{id}.json:
    get: { security: [{ key: [a:b] }], responses: {} }
  /openapi.json:
    get: { security: [{ key: [a:b] }], operationId: x, responses: {} }
`;

describe('a configuration with many mistakes', () => {
  it('reports a certificate and a key that cannot be used', async () => {
    const files = { 'customers.yaml': OPENAPI, 'tls.crt': 'no PEM', 'tls.key': 'nor this' };
    const tls = 'gateway: { tls: { cert: ./tls.crt, key: ./tls.key } }\n';
    const [problem, ...others] = await problemsOf({ ...files, 'gateway.yaml': MINIMAL + tls });
    expect(problem).toMatchObject({
      path: 'gateway.tls.cert',
      message: 'the certificate cannot be used: it is no certificate',
      hint: 'the file must be PEM and begin with -----BEGIN CERTIFICATE-----',
    });
    expect(others).toMatchObject([{ path: 'gateway.tls.key' }]);
  });

  it('reports all of them at once, each at its line', async () => {
    const problems = await problemsOf({ 'gateway.yaml': MANY_MISTAKES, 'customers.yaml': WRONG_OPENAPI });
    expect(lines(problems)).toMatchInlineSnapshot(`
[
  "customers.yaml:5 GET /customers names no scopes, so any valid key could call it",
  "customers.yaml:7 the scopes of alternatives in \`security\` cannot be told apart",
  "customers.yaml:8 is not valid OpenAPI: \`description\` is missing",
  "customers.yaml:8 is not valid OpenAPI: unknown key \`descripton\`",
  "customers.yaml:10 the scope \`read\` must be resource:verb, for example customers:read",
  "customers.yaml:10 \`./other.yaml\` leads outside of this document",
  "customers.yaml:12 GET /customers/{key} matches the same requests as GET /customers/{id}, which is there already",
  "customers.yaml:12 \`x-trailgate-cost\` must be a whole number from 0 to 1000000",
  "customers.yaml:12 \`#/components/responses/None\` names nothing in this document",
  "customers.yaml:14 is not valid OpenAPI: \`default\` is missing",
  "customers.yaml:14 is not valid OpenAPI: must NOT have fewer than 1 properties",
  "customers.yaml:16 /openapi.json is answered by the gateway itself",
  "customers.yaml:16 is not valid OpenAPI: \`default\` is missing",
  "customers.yaml:16 is not valid OpenAPI: must NOT have fewer than 1 properties",
  "gateway.yaml:1 must be at most 65535, not 70000",
  "gateway.yaml:1 the certificate ./none.crt cannot be read: there is no such file",
  "gateway.yaml:1 the private key ./none.key cannot be read: there is no such file",
  "gateway.yaml:2 unknown key \`hots\`",
  "gateway.yaml:2 the environment variable ADMIN_HOST is not set",
  "gateway.yaml:5 sunset (2027-01-01) is before deprecation (2027-06-01)",
  "gateway.yaml:7 \`targets\` is missing",
  "gateway.yaml:8 unknown key \`target\`",
  "gateway.yaml:11 must not carry a user name or password",
  "gateway.yaml:11 must not have a query or a fragment: a path is kept as a prefix, nothing more",
  "gateway.yaml:11 must be an http:// or https:// URL",
  "gateway.yaml:12 must be a size such as 64KiB, 10MiB or 1GiB, or a number of bytes, not \`lots\`",
  "gateway.yaml:13 must be a duration such as 500ms, 10s, 5m or 24h, not \`fast\`",
  "gateway.yaml:13 must be from 1ms to 24d, not \`0s\`",
  "gateway.yaml:14 must be true or false, not \`ja\`",
  "gateway.yaml:16 the target http://localhost:8081/ is the admin listener of this gateway",
  "gateway.yaml:19 no service is called \`custommers\`",
  "gateway.yaml:20 no OpenAPI document describes GET /boats, so it needs a \`service\`",
  "gateway.yaml:21 must be METHOD /path, for example GET /customers/{id}, not \`FETCH /boats\`",
  "gateway.yaml:22 /usage is answered by the gateway itself",
  "gateway.yaml:23 the path must not contain //",
  "gateway.yaml:23 must be resource:verb, for example customers:read, not \`Boats\`",
  "gateway.yaml:25 must be at least 0, not -1",
  "gateway.yaml:25 unknown key \`acount\`",
  "gateway.yaml:26 must be one of local, open, closed, not \`opne\`",
  "gateway.yaml:28 the key \`free\` is in the same map twice",
  "gateway.yaml:29 \`Pro\` must be a lower-case name",
  "gateway.yaml:30 unknown key \`evnets\`",
]
`);
  });

  it('suggests the intended names', async () => {
    const problems = await problemsOf({ 'gateway.yaml': MANY_MISTAKES, 'customers.yaml': WRONG_OPENAPI });
    const hints = Object.fromEntries(problems.map((problem) => [problem.path, problem.hint]));
    expect(hints).toMatchObject({
      'services.customers.target': 'did you mean `targets`?',
      'plans.starter.acount': 'did you mean `account`?',
      'plans.pro.onRedisLoss': 'did you mean `open`?',
      'operations[0].service': 'did you mean `customers`?',
      evnets: 'did you mean `events`?',
    });
  });

  it('does not repeat passwords', async () => {
    const problems = await problemsOf({
      'gateway.yaml': MANY_MISTAKES.replace('pw@', 'hunter2@'),
      'customers.yaml': WRONG_OPENAPI,
    });
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });

  it('refuses a limit that the RateLimit field cannot carry', async () => {
    const withLimit = (limit: number) => ({
      'gateway.yaml': MINIMAL.replace('minute: 60', `minute: ${limit}`),
      'customers.yaml': OPENAPI,
    });
    expect(await problemsOf(withLimit(999_999_999_999_999))).toEqual([]);
    const [problem] = await problemsOf(withLimit(1_000_000_000_000_000));
    expect(problem?.message).toBe('must be at most 999999999999999, not 1000000000000000');
  });

  it('says how to set a missing variable, and reports no other problem with the value', async () => {
    const text = MINIMAL.replace('minute: 60', 'minute: "${LIMIT}"');
    const problems = await problemsOf({ 'gateway.yaml': text, 'customers.yaml': OPENAPI });
    expect(lines(problems)).toEqual(['gateway.yaml:7 the environment variable LIMIT is not set']);
    expect(problems[0]?.hint).toBe('set it, or give a default: ${LIMIT:-…}');
  });
});

describe('a document that cannot be read', () => {
  it.each([
    [
      'not there',
      undefined,
      /^gateway.yaml:5 the OpenAPI document .\/customers.yaml cannot be read: there is no such file$/,
    ],
    ['not YAML', 'openapi: 3.1.0\npaths: {', /^customers.yaml:2 is not valid YAML/],
    ['no map', '- a', /^customers.yaml:1 is not an OpenAPI document/],
    ['Swagger 2.0', 'info: {}\nswagger: "2.0"', /^customers.yaml:2 the OpenAPI document has version 2.0$/],
    ['no version', 'info: {}', /^customers.yaml:1 the OpenAPI document has no `openapi` version$/],
  ])('is reported at its own line: %s', async (_, text, expected) => {
    const problems = await problemsOf({
      'gateway.yaml': `${MINIMAL}operations: [{ match: GET /customers, cost: 2 }]\n`,
      ...(text === undefined ? {} : { 'customers.yaml': text }),
    });
    expect(lines(problems)).toEqual([expect.stringMatching(expected)]);
  });

  it('can be gateway.yaml itself: missing, not a map, or with exploding aliases', async () => {
    expect(lines(await problemsOf({}))).toEqual(['gateway.yaml:1 cannot be read: there is no such file']);
    expect(lines(await problemsOf({ 'gateway.yaml': '- a' }))).toEqual(['gateway.yaml:1 must be a map, not a list']);
    const bomb = [
      'a: &a [1,1,1,1,1,1,1,1,1]',
      ...'bcdefgh'.split('').map((name, index) => {
        const before = String.fromCharCode(97 + index);
        return `${name}: &${name} [${Array(9).fill(`*${before}`).join()}]`;
      }),
    ].join('\n');
    expect(lines(await problemsOf({ 'gateway.yaml': bomb }))).toEqual([
      expect.stringMatching(/^gateway.yaml:6 the aliases up to `\*e` repeat more than 200000 values$/),
    ]);
  });

  it.each(['gateway: { port: ${PORT} }', 'operations: [{ match: GET /customers/{id}, scopes: [] }]'])(
    'gets one hint about quotes if braces are unquoted inside brackets: %s',
    async (text) => {
      const problems = await problemsOf({ 'gateway.yaml': text });
      expect(problems.map((problem) => problem.hint)).toEqual([expect.stringContaining('needs quotes')]);
    },
  );
});

describe('references', () => {
  const document = (schema: string): string =>
    withPaths(`  /a:\n    get: { ${OK} }\n`) + `components: { schemas: { A: ${schema} } }\n`;

  it('are resolved in properties of any name, but not in example data', async () => {
    const data = '{ example: { $ref: "./data" }, default: { $ref: "./data" }, enum: [{ $ref: "./data" }] }';
    await expect(problemsOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': document(data) })).resolves.toEqual([]);
    const properties = '{ properties: { example: { $ref: "#/none" }, default: { $ref: "./other.yaml" } } }';
    const problems = await problemsOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': document(properties) });
    expect(problems.map((problem) => problem.path)).toEqual([
      'components.schemas.A.properties.example.$ref',
      'components.schemas.A.properties.default.$ref',
    ]);
  });

  it('can be recursive, but a YAML alias cannot', async () => {
    const recursive = '{ properties: { next: { $ref: "#/components/schemas/A" } } }';
    await expect(problemsOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': document(recursive) })).resolves.toEqual([]);
    const problems = await problemsOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': document('&a { x-self: *a }') });
    expect(lines(problems)).toEqual(['customers.yaml:7 `*a` stands within the value that it repeats']);
  });
});

describe('operations of several services', () => {
  const TWO = `
services:
  one: { targets: [http://127.0.0.1:1], openapi: one.yaml }
  two: { targets: [http://127.0.0.1:2], openapi: two.yaml }
plans: {}
`;

  it('may not match the same requests, even with different parameter names', async () => {
    const problems = await problemsOf({
      'gateway.yaml': TWO,
      'one.yaml': withPaths(`  /customers/{id}:\n    get: { ${OK} }\n`),
      'two.yaml': withPaths(`  /customers/{key}:\n    get: { ${OK} }\n`),
    });
    expect(lines(problems)).toEqual([
      'two.yaml:6 GET /customers/{key} matches the same requests as GET /customers/{id}, which is there already, ' +
        'in service `one`',
    ]);
  });

  it('use the parameter names of the first operation with the same path', async () => {
    const parameter = "parameters: [{ name: key, in: path, required: true, description: 'Its key', schema: {} }]";
    const { operations } = await configOf({
      'gateway.yaml': TWO,
      'one.yaml': withPaths(`  /customers/{id}:\n    get: { ${OK} }\n`),
      'two.yaml': withPaths(`  /customers/{key}:\n    put: { ${parameter}, ${OK} }\n`),
    });
    expect(operations.map(({ method, template }) => `${method} ${template}`)).toEqual([
      'GET /customers/{id}',
      'PUT /customers/{id}',
    ]);
    expect(operations[1]?.openapi).toMatchObject({ parameters: [{ name: 'id', in: 'path', description: 'Its key' }] });
  });

  it('may not share an operation ID', async () => {
    const problems = await problemsOf({
      'gateway.yaml': TWO,
      'one.yaml': withPaths(`  /a:\n    get: { operationId: list, ${OK} }\n`),
      'two.yaml': withPaths(`  /b:\n    get: { operationId: list, ${OK} }\n`),
    });
    expect(lines(problems)).toEqual(['two.yaml:6 the operation id `list` belongs to GET /a already']);
  });
});

describe('targets', () => {
  it.each([
    ['http://localhost:8080', 'gateway'],
    ['http://127.0.0.9:8080/api', 'gateway'],
    ['http://[::1]:8081', 'admin'],
  ])('may not point to a listener of this gateway: %s', async (target, listener) => {
    const text = MINIMAL.replace('[http://127.0.0.1:4001]', `["${target}"]`);
    const problems = await problemsOf({ 'gateway.yaml': text, 'customers.yaml': OPENAPI });
    expect(lines(problems)).toEqual([
      `gateway.yaml:4 the target ${target} is the ${listener} listener of this gateway`,
    ]);
  });
});
