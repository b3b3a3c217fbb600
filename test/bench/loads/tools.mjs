/** Load 10: the cost of an MCP tool call compared with its REST request, with the same keys, limits and backend. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { SCOPE } from '../keys.mjs';
import { PLAIN_REQUEST } from '../load.mjs';
import { temporaryFolder } from '../processes.mjs';
import { aimLine, fixed, medianOf, notesOf, tableOf, whole } from './report.mjs';
import { measureRows } from './rounds.mjs';
import { openScene } from './scene.mjs';

/** Maximum CPU time of a tool call, relative to its REST request. */
const AIM_RATIO = 1.5;
/**
 * Duration of the warm-up. REST requests run first, so the code for tool calls is compiled later. In their first
 * seconds, tool calls take a tenth more time.
 */
const WARM_UP_SECONDS = 20;
const MODERN = '2026-07-28';
const LEGACY = '2025-06-18';

const BODY = { name: 'Guest Number 9', email: 'guest.9@rafting.example', tours: 3 };
const FIELDS = { name: { type: 'string' }, email: { type: 'string' }, tours: { type: 'integer' } };

export const title = 'Tool calls';

/** Writes the OpenAPI document of the service, from which the gateway generates the tools. Returns its path. */
function writeDescription() {
  const operation = (operationId, description, more) => ({
    operationId,
    description,
    'x-mcp': { response: 'text' },
    security: [{ key: [SCOPE] }],
    responses: { 200: { description: 'As the backend says.', content: { 'application/json': {} } } },
    ...more,
  });
  const file = path.join(temporaryFolder(), 'tools.openapi.json');
  const description = {
    openapi: '3.1.0',
    info: { title: 'Tools', version: '1' },
    components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    paths: {
      '/customers': {
        get: operation('listCustomers', 'Lists customers, newest first, page by page.', {
          parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100 } }],
        }),
        post: operation('createCustomer', 'Creates a customer from a name and an address.', {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { type: 'object', properties: FIELDS, required: ['name'] } } },
          },
        }),
      },
    },
  };
  writeFileSync(file, JSON.stringify(description));
  return file;
}

export async function measure(settings) {
  const gateway = await openScene({ name: 'tools', operations: [], service: { openapi: writeDescription() } });
  const bodyFile = path.join(temporaryFolder(), 'customer.json');
  writeFileSync(bodyFile, JSON.stringify(BODY));
  const list = { path: `${PLAIN_REQUEST.path}?limit=8`, length: PLAIN_REQUEST.length };
  const create = { path: PLAIN_REQUEST.path, method: 'POST', bodyFile, length: PLAIN_REQUEST.length };
  const rows = [
    { id: 'GET', title: '`GET /customers`', request: list },
    {
      id: 'tool of GET',
      title: 'the tool that it is, 2026-07-28',
      request: call(MODERN, 'list_customers', { limit: 8 }),
    },
    { id: 'tool of GET, legacy', title: 'the same, 2025-06-18', request: call(LEGACY, 'list_customers', { limit: 8 }) },
    { id: 'POST', title: '`POST /customers`', request: create },
    { id: 'tool of POST', title: 'the tool that it is, 2026-07-28', request: call(MODERN, 'create_customer', BODY) },
  ].map((row) => ({ ...row, gateway, warmUpSeconds: WARM_UP_SECONDS }));
  const summaries = await measureRows(rows, settings);
  const restOf = [0, 0, 0, 3, 3];
  return { rows: summaries.map((row, index) => ({ ...row, rest: summaries[restOf[index]] })) };
}

/**
 * Returns a tool call as an MCP client sends it.
 * @param version protocol version of MCP
 */
function call(version, name, args) {
  const isModern = version === MODERN;
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { ...(isModern ? { _meta: meta } : {}), name, arguments: args };
  const bodyFile = path.join(temporaryFolder(), `${name}-${version}.json`);
  writeFileSync(bodyFile, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
  const fields = [
    `MCP-Protocol-Version: ${version}`,
    ...(isModern ? ['Mcp-Method: tools/call', `Mcp-Name: ${name}`] : []),
  ];
  return { path: '/mcp', method: 'POST', bodyFile, fields, contains: '"content":[{"type":"text","text":"{\\"data\\"' };
}

export function table({ rows }) {
  const ratio = (of) => (row) => {
    const [own, rest] = [of(row), of(row.rest)];
    return row === row.rest || row.rest.id === row.id || own === undefined ? '–' : fixed(own / rest, 2);
  };
  const columns = {
    'CPU µs/request, lowest': (row) => fixed(row.lowestCpu),
    'of REST': ratio((row) => row.lowestCpu),
    median: medianOf('cpuMicroseconds'),
    'of its median': ratio((row) => row.medians.cpuMicroseconds),
    'instructions/request': (row) => whole(row.medians.instructions),
    'of its': ratio((row) => row.medians.instructions),
    'requests/s': (row) => whole(row.medians.requestsPerSecond),
    'p99 ms': medianOf('p99', 2),
  };
  const calls = rows.filter((row) => row.rest.id !== row.id);
  const worst = (of) => Math.max(...calls.map((row) => of(row) / of(row.rest)));
  const cpu = Math.max(
    worst((row) => row.lowestCpu),
    worst((row) => row.medians.cpuMicroseconds),
  );
  const instructions = worst((row) => row.medians.instructions);
  return [
    tableOf('request', rows, columns),
    aimLine(
      `a tool call takes at most ${AIM_RATIO} times the CPU of its REST request, by the lowest and by the median`,
      `${fixed(cpu, 2)} at the most${Number.isNaN(instructions) ? '' : ` (instructions: ${fixed(instructions, 2)})`}`,
      cpu <= AIM_RATIO,
    ),
    ...notesOf(rows),
  ].join('\n\n');
}
