/** `GET /admin/v1/accounts/{id}/mcp-tools` previews the tools that the MCP server would list for a key. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import type { Account } from '../support/admin.js';
import { send } from '../support/http.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

interface Tools {
  readonly enabled: boolean;
  readonly server_name: string;
  readonly url: string;
  readonly total: number;
  readonly searched: boolean;
  readonly data: readonly { readonly name: string; readonly read_only: boolean; readonly scopes: readonly string[] }[];
}

const tool = (match: string, name: string, scope: string) => ({
  match,
  service: 'backend',
  scopes: [scope],
  mcp: { name, description: 'Does something with boats, for the tests.' },
});
const CONFIG = {
  api: { title: 'Boats', publicUrl: 'https://api.example.com' },
  operations: [
    tool('GET /boats', 'list_boats', 'boats:read'),
    tool('DELETE /boats/{id}', 'delete_boat', 'boats:write'),
    tool('GET /piers', 'list_piers', 'piers:read'),
    ...Array.from({ length: 25 }, (_, at) => tool(`GET /lakes/${at}`, `get_lake_${at}`, 'lakes:read')),
  ],
};

let backend: Backend;
let gateway: SharedTrailgate;
let account: Account;

beforeAll(async () => {
  backend = await startBackend(json({}));
  gateway = await acquireTrailgate({ backend: backend.url, config: CONFIG });
  account = await gateway.admin.createAccount();
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const toolsOf = (query = '') => gateway.admin.call<Tools>('GET', `/accounts/${account.id}/mcp-tools${query}`);
const namesOf = ({ data }: Tools) => data.map(({ name }) => name);

/** Returns the tools that the MCP server lists for a new key with these scopes, without the built-in `get_usage`. */
async function listedTo(scopes: readonly string[]): Promise<string[]> {
  const { secret } = await gateway.admin.createKey(account.id, { scopes });
  const response = await send(`${gateway.gatewayUrl}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2025-06-18',
      host: 'api.example.com',
    },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
  });
  const { result } = response.json<{ result: { tools: { name: string }[] } }>();
  return result.tools.map(({ name }) => name).filter((name) => name !== 'get_usage');
}

it('the preview has the URL and the name of the MCP server, and all tools', async () => {
  const all = await toolsOf();
  expect(all).toMatchObject({ enabled: true, server_name: 'Boats', url: 'https://api.example.com/mcp', total: 28 });
  expect([all.data.length, all.searched]).toEqual([28, true]);
  expect(all.data[0]).toEqual({
    name: 'list_boats',
    title: null,
    description: 'Does something with boats, for the tests.',
    operation: expect.any(String),
    scopes: ['boats:read'],
    read_only: true,
    destructive: false,
    tokens: expect.any(Number),
  });
  expect(all.data[1]).toMatchObject({ read_only: false, destructive: true });
});

it.each([[['boats:read']], [['boats:*']], [['boats:write', 'piers:read']]])(
  'the preview for the scopes %j has the tools that the MCP server lists',
  async (scopes) => {
    const said = await toolsOf(`?scopes=${encodeURIComponent(scopes.join(','))}`);
    expect(namesOf(said)).toEqual(await listedTo(scopes));
    expect([said.total, said.searched]).toEqual([28, false]);
  },
);

it('the preview for more than 25 tools says that the MCP server offers search instead of a list', async () => {
  const said = await toolsOf('?scopes=*');
  expect([said.searched, said.data.length]).toEqual([true, 28]);
  expect(await listedTo(['*'])).toEqual(['search_operations', 'call_operation']);
});

it('the preview for scopes without a tool is empty', async () => {
  expect(await toolsOf('?scopes=invoices:read')).toMatchObject({ data: [], total: 28, searched: false });
});

it.each(['?scopes=', '?scopes=a%20b', '?scopes=a,,b', `?scopes=${'a'.repeat(9_000)}`, '?scope=boats:read'])(
  'the preview refuses %s',
  async (query) => {
    const answer = await send(`${gateway.adminUrl}/admin/v1/accounts/${account.id}/mcp-tools${query}`, {
      headers: { authorization: `Bearer ${gateway.adminToken}` },
    });
    expect([answer.status, answer.json<{ code: string }>().code]).toEqual([400, 'invalid_parameter']);
  },
);
