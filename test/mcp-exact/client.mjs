/**
 * Lists, reads, renames and deletes a pet through an MCP client library. Takes the ID from the text of a result, and
 * sends it as a string. As a number it would be rounded, because it has 19 digits.
 *
 * Usage: URL=… API_KEY=… node client.mjs <client>
 *
 * Prints JSON with the number of tools, and the text of the pet.
 */
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const { URL: url = '', API_KEY: key = '' } = process.env;
const headers = { authorization: `Bearer ${key}` };
const info = { name: 'exact', version: '1.0.0' };

/** Connectors by client library. Each returns the number of listed tools, and a function that returns a call's text. */
const CLIENTS = {
  async sdk() {
    const client = new Client(info);
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    const { tools } = await client.listTools();
    return {
      tools: tools.length,
      call: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
    };
  },
  async client() {
    const client = new ModernClient(info, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new ModernTransport(new URL(url), { requestInit: { headers } }));
    const { tools } = await client.listTools();
    return {
      tools: tools.length,
      call: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
    };
  },
  async 'ai-sdk'() {
    const { experimental_createMCPClient: open, createMCPClient = open } = await import('@ai-sdk/mcp');
    const client = await createMCPClient({ transport: { type: 'http', url, headers } });
    const tools = await client.tools();
    const options = { toolCallId: '1', messages: [] };
    return {
      tools: Object.keys(tools).length,
      call: async (name, args) => textOf(await tools[name].execute(args, options)),
    };
  },
  async langchain() {
    const { MultiServerMCPClient } = await import('@langchain/mcp-adapters');
    const client = new MultiServerMCPClient({ pets: { transport: 'http', url, headers } });
    const tools = await client.getTools();
    return {
      tools: tools.length,
      call: async (name, args) => {
        const said = await tools.find((tool) => tool.name === name).invoke(args);
        return typeof said === 'string' ? said : JSON.stringify(said);
      },
    };
  },
};

function textOf({ content, isError }) {
  if (isError) throw new Error(JSON.stringify(content));
  return content.map(({ text }) => text).join('');
}

const { tools, call } = await CLIENTS[process.argv[2]]();
const pets = await call('list_pets', {});
const id = /\\?"id\\?":(\d+),\\?"name\\?":\\?"target/.exec(pets)?.[1];
if (id === undefined) throw new Error(`No pet in ${pets}`);
const read = await call('get_pet', { id });
await call('rename_pet', { id, name: 'renamed', owner: id });
await call('delete_pet', { id });
console.log(JSON.stringify({ tools, read }));
process.exit(0);
