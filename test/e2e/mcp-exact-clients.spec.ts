/**
 * Ten foreign clients list, read, rename and delete a record whose ID has 19 digits and whose name has a lone
 * surrogate. No call is lost. `npm run mcp:clients` installs the clients.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { describeUnless } from '../support/describe-with.js';
import { installNpmPackages, installPythonPackages, pythonOf, runForeign } from '../support/foreign-packages.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { mergePatch, testOpenapi, type Json } from '../support/program-config.js';

const FOLDER = 'test/mcp-exact';
const ID = '1234567890123456789';
/** The ID as JavaScript rounds it. A second record has this ID. */
const ROUNDED = '1234567890123456800';
const TARGET = `{"id":${ID},"name":"target \\ud83d","price":1.10}`;
const OTHER = `{"id":${ROUNDED},"name":"other","price":2}`;

const id = { type: 'integer', format: 'int64' };
const pet = { type: 'object', properties: { id, name: { type: 'string' }, price: { type: 'number' } } };
const inPath = { name: 'id', in: 'path', required: true, schema: id };
const operation = (operationId: string, summary: string, schema: object, more: object = {}) => ({
  operationId,
  summary,
  'x-mcp': true,
  security: [{ apiKey: ['pets:all'] }],
  responses: { 200: { description: 'OK', content: { 'application/json': { schema } } } },
  ...more,
});
const OPENAPI = mergePatch(testOpenapi, {
  paths: {
    '/pets': {
      get: operation('listPets', 'Lists all pets', {
        type: 'object',
        properties: { data: { type: 'array', items: pet } },
      }),
    },
    '/pets/{id}': {
      parameters: [inPath],
      get: operation('getPet', 'Reads one pet', pet),
      put: operation('renamePet', 'Renames one pet', pet, {
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: { type: 'object', properties: { name: { type: 'string' }, owner: id } } },
          },
        },
      }),
      delete: operation('deletePet', 'Deletes one pet', pet),
    },
  },
}) as Json;

let backend: Backend;
let trailgate: RunningTrailgate;
let secret: string;
beforeAll(async () => {
  backend = await startBackend(({ url }, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(url === '/pets' ? `{"data":[${OTHER},${TARGET}]}` : TARGET);
  });
  trailgate = await startTrailgate({ backend: backend.url, openapi: OPENAPI });
  ({ secret } = (await trailgate.admin.newKey('unlimited')).key);
});
afterAll(async () => {
  await trailgate?.stop();
  await backend?.stop();
});

async function play(command: string, args: readonly string[]): Promise<void> {
  backend.requests.length = 0;
  const env = { URL: `${trailgate.gatewayUrl}/mcp`, API_KEY: secret, HOME: process.env['HOME'] ?? '' };
  const { code, stdout, stderr } = await runForeign(FOLDER, command, args, env);
  expect({ code, said: code === 0 ? '' : stderr.slice(-3_000) }).toEqual({ code: 0, said: '' });
  const { tools, read } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { tools: number; read: string };
  expect(tools).toBeGreaterThanOrEqual(4);
  expect(read).toContain(ID);
  expect(read).toContain('target ');
  const lines = backend.requests.map(({ method, url }) => `${method} ${url}`);
  expect(lines).toEqual(['GET /pets', `GET /pets/${ID}`, `PUT /pets/${ID}`, `DELETE /pets/${ID}`]);
  expect(backend.requests[2]?.body.toString()).toBe(`{"name":"renamed","owner":${ID}}`);
}

describeUnless(installNpmPackages(FOLDER, 'toolchains'))('the JavaScript client', () => {
  it.each(['sdk', 'client', 'ai-sdk', 'langchain'])('%s changes exactly the record it was shown', async (client) => {
    await play(process.execPath, ['client.mjs', client]);
  });
});

describeUnless(installPythonPackages(`${FOLDER}/python`, 'toolchains'))('the Python client', () => {
  it.each(['mcp', 'fastmcp', 'openai_agents', 'pydantic_ai'])(
    '%s changes exactly the record it was shown',
    async (client) => {
      await play(pythonOf(`${FOLDER}/python`), ['client.py', client]);
    },
  );
});

describeUnless(installPythonPackages(`${FOLDER}/python-mcp1`, 'toolchains'))('the Python client on mcp v1', () => {
  it.each(['langchain', 'llama_index'])('%s changes exactly the record it was shown', async (client) => {
    await play(pythonOf(`${FOLDER}/python-mcp1`), ['client.py', client]);
  });
});
