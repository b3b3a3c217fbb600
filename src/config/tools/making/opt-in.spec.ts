/**
 * Operations become tools by gateway.yaml or the OpenAPI document; gateway.yaml has priority. Mistakes are reported
 * with their line.
 */
import { basename } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { configOf, problemsOf, warningsOf, type ConfigFiles } from '../../../../test/support/config-files.js';
import { propertiesOf } from '../../../../test/support/tools.js';
import type { Tool } from '../tool.js';
import type { DescribedTool } from '../../model/described-tool.js';

const GATEWAY = `
services:
  boats: { targets: [http://127.0.0.1:4001], openapi: ./boats.yaml }
plans: { starter: {} }
`;
/** One operation with parameters and an `x-mcp` setting. */
const document = (xMcp: string, more = ''): string => `
openapi: 3.1.1
info: { title: Boats, version: '1' }
security: [{ key: ['boats:read'] }]
paths:
  /boats:
    get:
      operationId: listBoats
      summary: List boats
      description: Lists the boats of the account, newest first.
      ${xMcp === '' ? '' : `x-mcp: ${xMcp}`}
      parameters:
        - { name: region, in: query, required: true, schema: { type: string, enum: [lake, river] } }
        - { name: limit, in: query, schema: { type: integer, maximum: 100 } }
      responses: { '200': { description: Boats } }
${more}`;
const files = (xMcp: string, entry = '', more = ''): ConfigFiles => ({
  'gateway.yaml': GATEWAY + (entry === '' ? '' : `operations:\n  - ${entry}\n`),
  'boats.yaml': document(xMcp, more),
});
const toolsOf = async (...args: Parameters<typeof files>): Promise<readonly DescribedTool[]> =>
  (await configOf(files(...args))).tools ?? [];
const linesOf = async (...args: Parameters<typeof files>): Promise<string[]> =>
  (await problemsOf(files(...args))).map(
    ({ file, line, path, message }) => `${basename(file)}:${line} ${path}: ${message}`,
  );

describe('an operation becomes a tool', () => {
  it.each([
    ['nothing is said', '', '', []],
    ['the document says so', 'true', '', ['list_boats']],
    ['the document says no', 'false', '', []],
    ['the document names it', '{ name: boats }', '', ['boats']],
    ['gateway.yaml says so', '', '{ match: GET /boats, mcp: true }', ['list_boats']],
    ['gateway.yaml takes it back', '{ name: boats }', '{ match: GET /boats, mcp: false }', []],
    ['gateway.yaml brings it back', 'false', '{ match: GET /boats, mcp: {} }', ['list_boats']],
    ['gateway.yaml names it otherwise', '{ name: boats }', '{ match: GET /boats, mcp: { name: ships } }', ['ships']],
    ['gateway.yaml leaves its name', '{ name: boats }', '{ match: GET /boats, mcp: { title: X } }', ['boats']],
    ['gateway.yaml says nothing of it', '{ name: boats }', '{ match: GET /boats, cost: 2 }', ['boats']],
  ])('or not, depending on the settings: %s', async (_case, xMcp, entry, names) => {
    expect((await toolsOf(xMcp, entry)).map(({ name }) => name)).toEqual(names);
  });

  it('described only in gateway.yaml, with the parameters of its path', async () => {
    const entry = '{ match: "GET /piers/{pier}", service: boats, scopes: [], mcp: { description: Looks up a pier. } }';
    const [tool] = await toolsOf('', entry);
    expect(JSON.parse(tool?.json ?? '')).toEqual({
      name: 'get_piers_pier',
      description: 'Looks up a pier.',
      inputSchema: {
        type: 'object',
        properties: { pier: { type: 'string' } },
        required: ['pier'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    });
  });

  it('with each field from gateway.yaml, else from the document', async () => {
    const entry = '{ match: GET /boats, mcp: { description: "From gateway.yaml, which wins." } }';
    const [tool] = await toolsOf('{ title: In the document, description: not this, hide: [limit] }', entry);
    expect(tool).toMatchObject({ title: 'In the document', description: 'From gateway.yaml, which wins.' });
    expect(Object.keys(propertiesOf((JSON.parse(tool?.json ?? '') as Tool).inputSchema))).toEqual(['region']);
  });

  it('unless the MCP server is off', async () => {
    const off = { ...files('true'), 'gateway.yaml': `${GATEWAY}mcp: { enabled: false }\n` };
    expect((await configOf(off)).tools).toEqual([]);
  });
});

describe('an invalid tool setting is reported at its line', () => {
  it.each([
    ['yes please', 'boats.yaml:11 paths["/boats"].get.x-mcp: must be true, false, or a map of'],
    ['{ nmae: x }', 'boats.yaml:11 paths["/boats"].get.x-mcp.nmae: unknown key `nmae`'],
    ['{ name: List-Boats }', 'boats.yaml:11 paths["/boats"].get.x-mcp.name: must have 1 to 40 lower-case letters'],
    [`{ name: ${'x'.repeat(41)} }`, 'boats.yaml:11 paths["/boats"].get.x-mcp.name: must have 1 to 40'],
    [
      '{ name: get_usage }',
      'boats.yaml:11 paths["/boats"].get.x-mcp.name: `get_usage` is a tool of the gateway\'s own',
    ],
    ['{ description: " " }', 'boats.yaml:11 paths["/boats"].get.x-mcp.description: must not be empty'],
    ['{ response: json }', 'boats.yaml:11 paths["/boats"].get.x-mcp.response: must be one of data, text'],
    ['{ hide: [limits] }', 'boats.yaml:11 paths["/boats"].get.x-mcp.hide[0]: the operation has no parameter `limits`'],
    ['{ hide: [region] }', 'boats.yaml:11 paths["/boats"].get.x-mcp.hide[0]: `region` is required, so hidden it needs'],
    [
      '{ fixed: { constructor: 1 } }',
      'boats.yaml:11 paths["/boats"].get.x-mcp.fixed.constructor: the operation has no',
    ],
    ['{ fixed: { limit: 200 } }', 'boats.yaml:11 paths["/boats"].get.x-mcp.fixed.limit: `limit` must be at most 100'],
    [
      '{ fixed: { region: sea } }',
      'boats.yaml:11 paths["/boats"].get.x-mcp.fixed.region: `region` must be one of lake',
    ],
  ])('in a document: %s', async (xMcp, line) => {
    const lines = await linesOf(xMcp);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(line);
  });

  it.each([
    ['yes please', 'gateway.yaml:6 operations[0].mcp: must be true, false, or a map of'],
    ['{ nmae: x }', 'gateway.yaml:6 operations[0].mcp.nmae: unknown key `nmae`'],
    ['{ name: List-Boats }', 'gateway.yaml:6 operations[0].mcp.name: must have 1 to 40 lower-case letters'],
    ['{ hide: limit }', 'gateway.yaml:6 operations[0].mcp.hide: must be a list'],
    ['{ hide: [region] }', 'gateway.yaml:6 operations[0].mcp.hide[0]: `region` is required'],
  ])('in gateway.yaml: %s', async (mcp, line) => {
    const lines = await linesOf('', `{ match: GET /boats, mcp: ${mcp} }`);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(line);
  });

  it('with a suggestion for a misspelled key', async () => {
    const [inDocument] = await problemsOf(files('{ descripton: x }'));
    const [inConfig] = await problemsOf(files('', '{ match: GET /boats, mcp: { descripton: x } }'));
    expect([inDocument?.hint, inConfig?.hint]).toEqual(Array(2).fill('did you mean `description`?'));
  });

  it('if two tools have the same name', async () => {
    const more = `  /list-boats:
    get: { operationId: list_boats, x-mcp: true, responses: { '200': { description: ok } } }
`;
    expect(await linesOf('true', '', more)).toEqual([
      'boats.yaml:17 paths["/list-boats"].get.x-mcp.name: a tool `list_boats` is there already: GET /boats',
    ]);
  });

  const asked = (what: string): string =>
    `post: { operationId: x, x-mcp: true, ${what}, responses: { "200": { description: ok } } }`;
  const parameter = (what: string): string => asked(`parameters: [{ required: true, schema: {}, ${what} }]`);

  it.each([
    ['a file', asked('requestBody: { required: true, content: { image/png: {} } }'), 'its body is image/png'],
    [
      'a file that need not be sent',
      asked('requestBody: { content: { multipart/form-data: {} } }'),
      'its body is multipart/form-data',
    ],
    [
      'a cookie',
      parameter('name: c, in: cookie'),
      'the parameter `c` is a cookie parameter, which AI assistants cannot send',
    ],
    [
      'a header of the connection',
      parameter('name: Host, in: header'),
      'the parameter `Host` is a header that no caller may set',
    ],
    [
      'a style of its own',
      parameter('name: q, in: query, style: matrix'),
      'the parameter `q` has the style matrix, which is not known',
    ],
  ])('if an operation needs %s', async (_what, operation, message) => {
    const problems = await problemsOf(files('', '', `  /other:\n    ${operation}\n`));
    // The OpenAPI schema also reports an unknown style.
    expect(problems.map((problem) => problem.message)).toContainEqual(expect.stringContaining(message));
  });

  it('if an operation is a WebSocket', async () => {
    const socket = `  /other:
    get: { operationId: x, x-mcp: true, responses: { '200': { description: ok } } }
`;
    const problems = await problemsOf(files('', '{ match: GET /other, websocket: true }', socket));
    expect(problems.map((problem) => problem.message)).toEqual(['a WebSocket cannot be a tool']);
  });
});

describe('warnings', () => {
  const warningLines = async (xMcp: string, more = ''): Promise<string[]> =>
    (await warningsOf(files(xMcp, '', more))).map(({ file, line, message }) => `${basename(file)}:${line} ${message}`);

  it('are not given for a well described tool', async () => {
    expect(await warningLines('true')).toEqual([]);
  });

  it.each([
    ['{ description: List boats }', '`list_boats`', 'a description that says too little'],
    [
      '{ name: a_rather_long_name_of_a_tool, description: A rather long name of a tool. }',
      '`a_rather_long_name_of_a_tool`',
      'a description that says too little',
    ],
  ])('are given for %s', async (xMcp, name, message) => {
    expect(await warningLines(xMcp)).toEqual([`boats.yaml:11 ${message}: ${name}`]);
  });

  it('are given once per kind and file, however many tools they concern', async () => {
    const more = Array.from(
      { length: 30 },
      (_, index) => `  /bare${index}:
    get: { operationId: bare${index}, x-mcp: true, responses: { '200': { description: ok } } }
`,
    ).join('');
    expect(await warningLines('true', more)).toEqual([
      'boats.yaml:11 there are 31 tools: past 25, assistants search them, and do not see all',
      'boats.yaml:17 no description: `bare0`, `bare1`, `bare2` and 27 more',
    ]);
  });

  it('are given for an omitted cookie parameter, but not for one that OpenAPI ignores', async () => {
    const more = `  /odd:
    get:
      operationId: odd
      description: Says what it is for in a sentence that is long enough.
      x-mcp: true
      parameters: [{ name: c, in: cookie, schema: {} }, { name: Authorization, in: header, schema: {} }]
      responses: { '200': { description: ok } }
`;
    expect(await warningLines('', more)).toEqual([
      expect.stringMatching(/^boats\.yaml:\d+ an optional parameter is a cookie, .* it is left out: `odd`$/),
    ]);
  });

  it('are given for a shortened name and for a schema that costs many tokens', async () => {
    const description = 'Says what it is for in a sentence that is long enough.';
    const fields = Array.from(
      { length: 300 },
      (_, index) => `f${index}: { type: string, description: A field of it. }`,
    );
    const more = `  /long:
    post:
      operationId: createSomethingWithAVeryLongNameThatGoesOnAndOn
      description: ${description}
      x-mcp: true
      requestBody: { content: { application/json: { schema: { type: object, properties: { ${fields.join(', ')} } } } } }
      responses: { '201': { description: ok } }
`;
    expect(await warningLines('', more)).toEqual([
      expect.stringMatching(/^boats\.yaml:\d+ more than 3000 tokens \(a quarter of the characters\): `create_/),
      expect.stringMatching(
        /^boats\.yaml:\d+ the operationId is cut to make a name: `create_something_very_long_name_\w{4}`$/,
      ),
    ]);
  });
});
