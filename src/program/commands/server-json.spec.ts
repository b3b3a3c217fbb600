/** The server document for the MCP registry. */
import { expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI } from '../../../test/support/config-files.js';
import { serverJson, type ServerJsonOptions } from './server-json.js';

const TOOL = 'operations: [{ match: GET /customers, mcp: { description: "Lists customers, newest first." } }]\n';
const made = async (yaml: string, options: Partial<ServerJsonOptions> = {}) => {
  const config = await configOf({ 'gateway.yaml': `${MINIMAL}${yaml}`, 'customers.yaml': OPENAPI });
  return serverJson(config, { version: '1.0.0', ...options });
};
const api = (publicUrl: string, title = 'Tourism API') => `api: { publicUrl: "${publicUrl}", title: "${title}" }\n`;

it('names the server by its reversed domain, and declares the API key as secret', async () => {
  const key = { description: 'An API key of Tourism API.', isRequired: true, isSecret: true };
  expect(await made(TOOL + api('https://api.example.com'))).toEqual({
    document: {
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name: 'com.example.api/tourism-api',
      title: 'Tourism API',
      description: 'Tourism API: 1 tool for AI assistants.',
      version: '1.0.0',
      websiteUrl: 'https://api.example.com/docs',
      remotes: [
        {
          type: 'streamable-http',
          url: 'https://api.example.com/mcp',
          headers: [{ ...key, name: 'Authorization', value: 'Bearer {api_key}', variables: { api_key: key } }],
        },
      ],
    },
  });
});

it('stays within the limits of the registry for any API title', async () => {
  for (const title of ['Reiseführer für Österreich '.repeat(20), '客户', '–']) {
    const { document } = (await made(TOOL + api('https://a.example', title))) as { document: Record<string, string> };
    expect(document['name']).toMatch(/^example\.a\/[a-z0-9-]+$/);
    expect(document['name']?.length).toBeLessThanOrEqual(200);
    expect(document['title']?.length).toBeLessThanOrEqual(100);
    expect(document['description']?.length).toBeLessThanOrEqual(100);
  }
});

it('uses the name, version and description from the options', async () => {
  const given = { name: 'com.example/boats', version: '2.1.0-beta.1', description: 'Boats on lakes.' };
  expect(await made(TOOL + api('https://api.example.com'), given)).toMatchObject({ document: given });
});

it.each([
  ['without a tool', api('https://api.example.com'), {}, 'no operation is a tool'],
  ['of which there is none', `${TOOL}mcp: { enabled: false }\n${api('https://a.example')}`, {}, 'no MCP server'],
  ['without TLS', TOOL + api('http://api.example.com'), {}, 'api.publicUrl is http://api.example.com'],
  ['of this machine', TOOL, {}, 'public HTTPS URL'],
  ['of a private address', TOOL + api('https://10.0.0.7'), {}, 'public HTTPS URL'],
  ['with a name that is none', TOOL + api('https://a.example'), { name: 'boats' }, 'not boats'],
  [
    'with a range of versions',
    TOOL + api('https://a.example'),
    { version: '^1.0' },
    'must be exact, such as 1.0.2, not ^1.0',
  ],
])('a server %s is refused with a reason', async (_case, yaml, options, words) => {
  expect(await made(yaml, options)).toEqual({ problem: expect.stringContaining(words) });
});
