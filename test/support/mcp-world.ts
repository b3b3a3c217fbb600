/** Runs the MCP server in this process, with tools from an OpenAPI document, as in the program. */
import { openMcp } from '../../src/program/open-mcp.js';
import { withoutDocuments } from '../../src/config/running-config.js';
import type { ServedMethods } from '../../src/mcp/method-call.js';
import { startBackend, type Backend, type BackendHandler } from './backend.js';
import { configOf, type ConfigFiles } from './config-files.js';
import { send, type Answer, type SendOptions } from './http.js';
import { startWorld, type World, type WorldOptions } from './inner-world.js';
import { temporaryFolder } from './processes.js';

type Json = Readonly<Record<string, unknown>>;

const ORIGIN = 'https://api.example.com';
const OPENAPI = {
  publicUrl: ORIGIN,
  url: `${ORIGIN}/api/v1/openapi.json`,
  title: 'API',
  body: Buffer.from('{"openapi":"3.1.0"}'),
  etag: '"1"',
};

/**
 * Short description of a tool. Arguments that are not in the path become query parameters, or body fields of a POST.
 */
export interface ToolWords {
  readonly match: string;
  readonly name: string;
  readonly scopes?: readonly string[];
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Json>>;
  /** Schema of the response. Without one, results are text only. */
  readonly response?: Json;
}

export interface McpWorldOptions extends WorldOptions {
  /** Merged over the top level of the configuration. */
  readonly config?: Json;
  readonly tools?: readonly ToolWords[];
  /** Merged over `mcp` in the configuration. */
  readonly mcp?: Json;
  /** Replaces the MCP methods of the program. */
  readonly methods?: ServedMethods;
}

export interface McpWorld extends World {
  readonly backend: Backend;
  /** URL of the MCP server. */
  readonly mcpUrl: string;
  /** Replaces the handler of the backend, and clears its recorded requests. */
  answerWith(handler: BackendHandler): void;
  /** Replaces the tools with a configuration change, as a reload does. */
  useTools(tools: readonly ToolWords[]): Promise<void>;
  /**
   * Sends a message as a client of version 2026-07-28, with all required headers and metadata. Headers and `_meta` in
   * the arguments take precedence.
   */
  modern(secret: string, method: string, params?: object, options?: SendOptions): Promise<Answer>;
  /** Sends a request as a client of version 2025-06-18. */
  legacy(secret: string, method: string, params?: object, options?: SendOptions): Promise<Answer>;
}

export const MODERN = '2026-07-28';
export const LEGACY = '2025-06-18';

/**
 * Long timeouts of the backend. Client, gateway and backend share a process, which can stall for a second on a busy
 * machine.
 */
const PATIENT = { connect: '20s', firstByte: '60s' };

const FILE = {
  gateway: { host: '127.0.0.1', port: 0, failedAuthentication: { perMinute: 0 } },
  api: { title: 'Customers API', publicUrl: 'https://api.example.com' },
  plans: { unlimited: {}, hundred: { account: { minute: 100 }, onRedisLoss: 'closed' }, few: { key: { minute: 2 } } },
  mcp: { allowedOrigins: ['https://assistant.example'], allowedHosts: ['internal.example'] },
};

const TEXT = { type: 'string' };
const READ = ['customers:read'];
const WRITE = ['customers:write'];

/** Default tools, in the order of their document. */
export const TOOLS: readonly ToolWords[] = [
  {
    match: 'GET /customers',
    name: 'list_customers',
    scopes: READ,
    properties: { limit: { type: 'integer' }, cursor: TEXT },
  },
  { match: 'POST /customers', name: 'create_customer', scopes: WRITE, required: ['name'], properties: { name: TEXT } },
  { match: 'GET /customers/{id}', name: 'get_customer', scopes: READ, required: ['id'], properties: { id: TEXT } },
  {
    match: 'DELETE /customers/{id}',
    name: 'delete_customer',
    scopes: WRITE,
    required: ['id'],
    properties: { id: TEXT },
  },
];

export const GET_CUSTOMER = TOOLS[2]!;

/** Returns many tools that read something. */
export function manyTools(count: number, scopes: readonly string[] = ['reports:read']): ToolWords[] {
  return Array.from({ length: count }, (_, at) => ({
    match: `GET /reports_${at}`,
    name: `report_${at}`,
    scopes,
    description: `Reads report number ${at} on invoices.`,
  }));
}

/** Starts the MCP server with its own backend. The caller must stop it. */
export async function startMcpWorld(options: McpWorldOptions = {}): Promise<McpWorld> {
  const { config = {}, tools = TOOLS, mcp = {}, env = {}, methods, ...rest } = options;
  let handler: BackendHandler = (request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ url: request.url }));
  };
  const backend = await startBackend((...args) => handler(...args));
  const filesOf = (words: readonly ToolWords[]): ConfigFiles => ({
    'gateway.yaml': JSON.stringify({
      ...FILE,
      mcp: { ...FILE.mcp, ...mcp },
      services: { backend: { targets: [backend.url], openapi: './backend.yaml', timeouts: PATIENT } },
      ...config,
    }),
    'backend.yaml': JSON.stringify(documentOf(words)),
  });
  const reference = {
    openApis: () => [OPENAPI],
    errors: () => '{"errors":[]}',
  };
  const variables = { TRAILGATE_DATA_DIR: temporaryFolder('mcp'), ...env };
  const world = await startWorld(
    filesOf(tools),
    ({ modules, admission, shutdown }) => {
      const { mountEndpoint, endStreams } = openMcp(modules, admission, reference, methods);
      shutdown.add('end MCP streams', async () => endStreams());
      return mountEndpoint;
    },
    { ...rest, env: variables },
  );
  const mcpUrl = `${world.url}/mcp`;
  const post = (
    secret: string,
    body: object,
    headers: Record<string, string>,
    { headers: more, ...rest_ }: SendOptions,
  ) =>
    send(mcpUrl, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
        ...(more as Record<string, string> | undefined),
      },
      body,
      ...rest_,
    });
  return {
    ...world,
    backend,
    mcpUrl,
    async useTools(next) {
      const loaded = await configOf(filesOf(next), variables);
      await world.modules.config.replace({ config: withoutDocuments(loaded) });
    },
    answerWith(next) {
      handler = next;
      backend.requests.length = 0;
    },
    modern(secret, method, params = {}, sent = {}) {
      const { body, headers } = modernMessage(method, params);
      return post(secret, body, headers, sent);
    },
    legacy: (secret, method, params = {}, sent = {}) =>
      post(secret, { jsonrpc: '2.0', id: 1, method, params }, { 'mcp-protocol-version': LEGACY }, sent),
    async stop() {
      await world.stop();
      await backend.stop();
    },
  };
}

/** Returns a message of a client of version 2026-07-28, and the headers that it requires. */
export function modernMessage(method: string, params: Readonly<Record<string, unknown>> | object) {
  const { name, uri } = params as { name?: string; uri?: string };
  const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const named = name ?? uri;
  return {
    body: { jsonrpc: '2.0', id: 1, method, params: { _meta: meta, ...params } },
    headers: {
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      ...(named === undefined ? {} : { 'mcp-name': named }),
    } as Record<string, string>,
  };
}

/** Returns the OpenAPI document of a service with these tools. */
function documentOf(tools: readonly ToolWords[]): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const words of tools) {
    const [method = '', path = ''] = words.match.split(' ');
    (paths[path] ??= {})[method.toLowerCase()] = operationOf(words, method, path);
  }
  const securitySchemes = { key: { type: 'http', scheme: 'bearer' } };
  return { openapi: '3.1.0', info: { title: 'Backend', version: '1' }, components: { securitySchemes }, paths };
}

function operationOf(words: ToolWords, method: string, path: string): Json {
  const { name, scopes = [], description = `Does ${words.match}, and nothing else.`, required = [] } = words;
  const { properties = {}, response } = words;
  const isInPath = (argument: string) => path.includes(`{${argument}}`);
  const hasBody = method === 'POST';
  const parameters = Object.entries(properties)
    .filter(([argument]) => isInPath(argument) || !hasBody)
    .map(([argument, schema]) => ({
      name: argument,
      in: isInPath(argument) ? 'path' : 'query',
      required: isInPath(argument) || required.includes(argument),
      schema,
    }));
  const schema = { type: 'object', properties, required };
  const json = (of: Json) => ({ content: { 'application/json': { schema: of } } });
  return {
    operationId: name,
    description,
    'x-mcp': response === undefined ? { response: 'text' } : true,
    security: [{ key: scopes }],
    parameters,
    ...(hasBody ? { requestBody: { required: true, ...json(schema) } } : {}),
    responses: { 200: { description: 'As the backend says.', ...json(response ?? {}) } },
  };
}
