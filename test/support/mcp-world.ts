/** The MCP server in this process, on tools that are made by hand: what its own tests need of tools, and no more. */
import { openMcp } from '../../src/boot/open-mcp.js';
import type { Operation } from '../../src/config/model/schema.js';
import type { ArgumentFaults, BoundRequest, JsonSchema, Tool, ToolSet } from '../../src/config/tools/tool.js';
import type { McpSettings } from '../../src/mcp/settings.js';
import { startBackend, type Backend, type BackendHandler } from './backend.js';
import { send, type Answer, type SendOptions } from './http.js';
import { startWorld, type World, type WorldOptions } from './inner-world.js';

/** A tool as a test says it; arguments that stand in no `{…}` of the path go into the query, or into the body. */
export interface ToolWords {
  readonly match: string;
  readonly name: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly outputSchema?: JsonSchema;
  readonly structure?: Tool['structure'];
}

export interface McpWorldOptions extends WorldOptions {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly tools?: readonly ToolWords[];
  readonly settings?: Partial<McpSettings>;
  readonly isSearched?: boolean;
}

export interface McpWorld extends World {
  readonly backend: Backend;
  /** Of the server. */
  readonly mcpUrl: string;
  /** What the backend does from now on; forgets what it has received. */
  answerWith(handler: BackendHandler): void;
  /** Other tools from now on. */
  useTools(tools: readonly ToolWords[]): void;
  /** The configuration is changed, and with it the tools. */
  changeTools(tools: readonly ToolWords[]): Promise<void>;
  /** A message as a modern client sends it, with all that it owes; what is given takes its place. */
  modern(secret: string, method: string, params?: object, options?: SendOptions): Promise<Answer>;
  /** As a legacy client sends it. */
  legacy(secret: string, method: string, params?: object, options?: SendOptions): Promise<Answer>;
}

export const MODERN = '2026-07-28';
export const LEGACY = '2025-06-18';

const operation = (match: string, ...scopes: string[]) => ({ match, service: 'backend', scopes });

const FILE = {
  gateway: { host: '127.0.0.1', port: 0, failedAuthentication: { perMinute: 0 } },
  operations: [
    operation('GET /customers', 'customers:read'),
    operation('GET /customers/{id}', 'customers:read'),
    operation('POST /customers', 'customers:write'),
    operation('DELETE /customers/{id}', 'customers:write'),
    operation('GET /open'),
  ],
  plans: { unlimited: {}, hundred: { account: { minute: 100 } }, few: { key: { minute: 2 } } },
};

const TEXT = { type: 'string' };

export const TOOLS: readonly ToolWords[] = [
  { match: 'GET /customers', name: 'list_customers', properties: { limit: { type: 'integer' }, cursor: TEXT } },
  { match: 'GET /customers/{id}', name: 'get_customer', required: ['id'], properties: { id: TEXT } },
  { match: 'POST /customers', name: 'create_customer', required: ['name'], properties: { name: TEXT } },
  { match: 'DELETE /customers/{id}', name: 'delete_customer', required: ['id'], properties: { id: TEXT } },
];

/** Starts it, with a backend of its own. */
export async function startMcpWorld(options: McpWorldOptions = {}): Promise<McpWorld> {
  const { config = {}, tools = TOOLS, settings = {}, isSearched = false, ...rest } = options;
  let handler: BackendHandler = (request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ url: request.url }));
  };
  const backend = await startBackend((...args) => handler(...args));
  const file = { ...FILE, services: { backend: { targets: [backend.url] } }, ...config };
  const running = { current: { tools: [], byName: new Map(), isSearched } as ToolSet };
  let operations: readonly Operation[] = [];
  const useTools = (words: readonly ToolWords[]): void => {
    const made = words.map((each) => toolOf(each, operations));
    running.current = { tools: made, byName: new Map(made.map((tool) => [tool.name, tool])), isSearched };
  };
  const inForce: McpSettings = {
    isOn: true,
    name: 'Customers API',
    instructions: undefined,
    allowedOrigins: ['https://assistant.example'],
    allowedHosts: ['api.example.com'],
    mostResponseBytes: 64 * 1_024,
    ...settings,
  };
  const reference = {
    openApi: () => ({ publicUrl: 'https://api.example.com', body: Buffer.from('{"openapi":"3.1.0"}'), etag: '"1"' }),
    errors: () => '{"errors":[]}',
  };
  const world = await startWorld(
    { 'gateway.yaml': JSON.stringify(file) },
    ({ domain, admission, log, shutdown }) => {
      ({ operations } = domain.config.current);
      useTools(tools);
      return openMcp(domain, admission, { settings: () => inForce, tools: running, reference }, log, shutdown);
    },
    rest,
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
    useTools,
    async changeTools(next) {
      const { config: configuration } = world.domain;
      configuration.onChange(() => () => useTools(next));
      await configuration.replace({ config: configuration.current });
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

/** A message of a modern client, and the headers that it owes. */
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

function toolOf(words: ToolWords, operations: readonly Operation[]): Tool {
  const { match, name, description = `Does ${match}.`, required = [], properties = {}, outputSchema } = words;
  const found = operations.find((each) => `${each.method} ${each.template}` === match);
  if (found === undefined) throw new Error(`no operation ${match}`);
  const { method } = found;
  const inputSchema = { type: 'object', properties, required, additionalProperties: false };
  const annotations = {
    readOnlyHint: method === 'GET',
    destructiveHint: method === 'DELETE',
    idempotentHint: method !== 'POST',
    openWorldHint: false,
  };
  const json = JSON.stringify({ name, description, inputSchema, outputSchema, annotations });
  return {
    name,
    title: undefined,
    description,
    operation: found,
    inputSchema,
    outputSchema,
    annotations,
    json,
    tokens: json.length / 4,
    pagingArguments: Object.keys(properties).filter((each) => each === 'limit' || each === 'cursor'),
    bind: (args) => bound(found, args, required, properties),
    structure:
      words.structure ?? ((body) => (outputSchema === undefined ? undefined : (body as Record<string, unknown>))),
  };
}

function bound(
  { method, template }: Operation,
  args: Readonly<Record<string, unknown>>,
  required: readonly string[],
  properties: Readonly<Record<string, JsonSchema>>,
): BoundRequest | ArgumentFaults {
  const faults = [
    ...required.filter((name) => !Object.hasOwn(args, name)).map((field) => ({ field, detail: 'is missing' })),
    ...Object.keys(args)
      .filter((name) => !Object.hasOwn(properties, name))
      .map((field) => ({ field, detail: 'is unknown' })),
    ...Object.entries(args)
      .filter(([name, value]) => Object.hasOwn(properties, name) && !fits(properties[name]!, value))
      .map(([field]) => ({ field, detail: 'has the wrong type' })),
  ];
  if (faults.length > 0) return { faults };
  const rest = new Map(Object.entries(args));
  const path = template.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = encodeURIComponent(String(args[name]));
    rest.delete(name);
    return value;
  });
  if (method === 'POST') {
    const body = Buffer.from(JSON.stringify(Object.fromEntries(rest)));
    return { url: path, lines: 'accept: application/json\r\ncontent-type: application/json\r\n', body };
  }
  const query = new URLSearchParams([...rest].map(([name, value]) => [name, String(value)])).toString();
  return { url: query === '' ? path : `${path}?${query}`, lines: 'accept: application/json\r\n', body: undefined };
}

function fits({ type }: JsonSchema, value: unknown): boolean {
  return type === 'integer' ? Number.isInteger(value) : typeof value === 'string';
}
