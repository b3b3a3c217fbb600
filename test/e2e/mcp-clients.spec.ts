/** The official MCP clients, for the current and the previous protocol version: lists, calls, pages, and refusals. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { json } from '../support/backend.js';
import { GET_CUSTOMER, manyTools, startMcpWorld, TOOLS, type McpWorld } from '../support/mcp-world.js';
import { eventually } from '../support/processes.js';

const INFO = { name: 'test', version: '1.0.0' };

/** Methods that the clients of both protocol versions have. */
interface AnyClient {
  listTools(params?: { cursor?: string }): Promise<{ tools: { name: string }[]; nextCursor?: string | undefined }>;
  callTool(params: {
    name: string;
    arguments?: Record<string, unknown>;
  }): Promise<{ isError?: unknown; content?: unknown }>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  readResource(params: { uri: string }): Promise<{ contents: unknown[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<{ messages: unknown[] }>;
  getServerVersion(): { name: string } | undefined;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

let world: McpWorld;
let secret: string;
beforeAll(async () => {
  world = await startMcpWorld({ mcp: { mostListed: 100 } });
  ({ secret } = await world.newKey('unlimited'));
});
afterAll(() => world?.stop());

const opened: AnyClient[] = [];
afterAll(async () => {
  for (const client of opened) await client.close();
});

const requestInit = (of: string) => ({ headers: { authorization: `Bearer ${of}` } });

async function modernClient(of: string): Promise<Client> {
  const client = new Client(INFO, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(world.mcpUrl), { requestInit: requestInit(of) }));
  opened.push(client as unknown as AnyClient);
  return client;
}

const CLIENTS: readonly (readonly [string, (of: string) => Promise<AnyClient>])[] = [
  ['@modelcontextprotocol/client 2.4', async (of) => (await modernClient(of)) as unknown as AnyClient],
  [
    '@modelcontextprotocol/client 2.4, of the versions before',
    async (of) => {
      const client = new Client(INFO, { versionNegotiation: { mode: 'legacy' } });
      await client.connect(new StreamableHTTPClientTransport(new URL(world.mcpUrl), { requestInit: requestInit(of) }));
      opened.push(client as unknown as AnyClient);
      return client as unknown as AnyClient;
    },
  ],
  [
    '@modelcontextprotocol/sdk 1.32',
    async (of) => {
      const client = new LegacyClient(INFO);
      const transport = new LegacyTransport(new URL(world.mcpUrl), { requestInit: requestInit(of) });
      await client.connect(transport as Parameters<LegacyClient['connect']>[0]);
      opened.push(client as unknown as AnyClient);
      return client as unknown as AnyClient;
    },
  ],
];

describe.each(CLIENTS)('%s', (_name, connect) => {
  it('gets the name and the instructions of the server', async () => {
    const client = await connect(secret);
    expect(client.getServerVersion()).toMatchObject({ name: 'Customers API' });
    expect(client.getInstructions()).toContain('get_usage');
  });

  it('lists the tools its key can call, and calls them', async () => {
    const { secret: reader } = await world.newKey('unlimited', ['customers:read']);
    const client = await connect(reader);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['get_usage', 'list_customers', 'get_customer']);
    world.answerWith(json({ data: [] }));
    const result = await client.callTool({ name: 'list_customers', arguments: { limit: 3 } });
    expect(result).toMatchObject({ content: [{ type: 'text', text: '{"data":[]}' }] });
    expect(world.backend.requests[0]?.url).toBe('/customers?limit=3');
    const usage = await client.callTool({ name: 'get_usage' });
    expect(usage).toMatchObject({ content: [{ text: expect.stringContaining('"windows"') }] });
  });

  it('accepts structured content and errors from a tool with an output schema', async () => {
    const response = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
    await world.useTools([{ ...GET_CUSTOMER, response }]);
    world.answerWith(json({ id: 'cus_1' }));
    const client = await connect(secret);
    await client.listTools();
    const call = { name: 'get_customer', arguments: { id: 'cus_1' } };
    expect(await client.callTool(call)).toMatchObject({ structuredContent: { id: 'cus_1' } });
    world.answerWith(json({ message: 'gone' }, 404));
    expect(await client.callTool(call)).toMatchObject({ isError: true });
    await world.useTools(TOOLS);
  });

  it('lists all tools across pages', async () => {
    await world.useTools(manyTools(70));
    const client = await connect(secret);
    const first = await client.listTools({});
    // The newer client follows the pages by itself.
    const rest = first.nextCursor === undefined ? [] : (await client.listTools({ cursor: first.nextCursor })).tools;
    expect(new Set([...first.tools, ...rest].map(({ name }) => name)).size).toBe(71);
    await world.useTools(TOOLS);
  });

  it('gets a tool error for a missing scope and for an exceeded rate limit', async () => {
    world.answerWith(json({}));
    const { secret: reader } = await world.newKey('few', ['customers:read']);
    const client = await connect(reader);
    const refused = await client.callTool({ name: 'create_customer', arguments: { name: 'x' } });
    expect(refused).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('"missing_scopes":["customers:write"]') }],
    });
    for (let at = 0; at < 2; at++) await client.callTool({ name: 'list_customers' });
    const limited = await client.callTool({ name: 'list_customers' });
    expect(limited).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('"error":"rate_limited"') }],
    });
  });

  it('reads resources and prompts', async () => {
    const client = await connect(secret);
    const { resources } = await client.listResources();
    expect((await client.readResource({ uri: resources[0]!.uri })).contents).toHaveLength(1);
    const { prompts } = await client.listPrompts();
    expect((await client.getPrompt({ name: prompts[1]!.name })).messages).toHaveLength(1);
  });

  it('cannot connect with an unknown key', async () => {
    await expect(connect('tg_live_nonsense')).rejects.toThrow(/401|nauthorized|API key/);
  });

  it('gets the matching result for each of 50 concurrent calls', async () => {
    world.answerWith((request, response) => {
      const id = request.url?.split('/').at(-1);
      setTimeout(
        () => response.writeHead(200, { 'content-type': 'application/json' }).end(`"${id}"`),
        Math.random() * 30,
      );
    });
    const client = await connect(secret);
    const ids = Array.from({ length: 50 }, (_, at) => `cus_${at}`);
    const results = await Promise.all(ids.map((id) => client.callTool({ name: 'get_customer', arguments: { id } })));
    expect(results.map(({ content }) => (content as { text: string }[])[0]?.text)).toEqual(ids.map((id) => `"${id}"`));
  });
});

describe('a client that listens', () => {
  it('gets one notification when the list of tools changes', async () => {
    const client = await modernClient(secret);
    expect(client.getProtocolEra()).toBe('modern');
    let notificationCount = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => void notificationCount++);
    const subscription = await client.listen({ toolsListChanged: true });
    expect(notificationCount).toBe(0);
    await world.useTools(TOOLS.slice(0, 2));
    await eventually('the client is notified', () => notificationCount === 1);
    await subscription.close();
  });

  it('loses its stream within a second when its key is revoked', async () => {
    const { secret: of, keyId } = await world.newKey('unlimited');
    const client = await modernClient(of);
    const subscription = await client.listen({ toolsListChanged: true });
    let isOver = false;
    void subscription.closed.then(() => (isOver = true));
    await world.revoke(keyId);
    await eventually('the stream has ended', () => isOver, 1_000);
    await expect(client.callTool({ name: 'list_customers' })).rejects.toThrow(/401|nauthorized|revoked/);
  });
});
