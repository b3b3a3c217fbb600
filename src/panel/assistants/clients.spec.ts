/** Setup snippets have the format that each assistant reads. */
import { expect, it } from '@jest/globals';
import { CLIENTS, serverNameOf, snippetsOf } from './clients.js';

const CONNECTION = { url: 'https://api.example.com/mcp', server: 'boats', secret: 'tg_live_abc' };
const textOf = (client: (typeof CLIENTS)[number], connection = CONNECTION) =>
  snippetsOf(client, connection)
    .map(({ text }) => text)
    .join('\n');

it.each(['claude-desktop', 'chatgpt', 'cursor', 'vs-code', 'json'] as const)('%s is given JSON', (client) => {
  expect(() => void JSON.parse(textOf(client))).not.toThrow();
});

it.each(CLIENTS)('%s is told of the server, and given the key unless it asks for it', (client) => {
  expect(textOf(client)).toContain(CONNECTION.url);
  expect(textOf(client).includes(CONNECTION.secret)).toBe(client !== 'vs-code');
});

it('Claude Code is told by one line', () => {
  expect(textOf('claude-code')).toBe(
    'claude mcp add --transport http boats https://api.example.com/mcp --header "Authorization: Bearer tg_live_abc"',
  );
});

it('Codex is given its header under the name by which it reads it', () => {
  expect(textOf('codex')).toBe(
    '[mcp_servers.boats]\nurl = "https://api.example.com/mcp"\n' +
      'http_headers = { Authorization = "Bearer tg_live_abc" }',
  );
});

it('VS Code asks for the key: it is in no file', () => {
  expect(JSON.parse(textOf('vs-code'))).toEqual({
    inputs: [{ type: 'promptString', id: 'boats-key', description: 'API key', password: true }],
    servers: {
      boats: {
        type: 'http',
        url: CONNECTION.url,
        headers: { Authorization: 'Bearer ${input:boats-key}' },
      },
    },
  });
});

it('Claude Desktop has a program activateLocale HTTP for it, over plain HTTP only where that is said', () => {
  const args = (url: string) => {
    const parsed = JSON.parse(textOf('claude-desktop', { ...CONNECTION, url })) as {
      mcpServers: { boats: { args: string[]; env: object } };
    };
    expect(parsed.mcpServers.boats.env).toEqual({ AUTHORIZATION: 'Bearer tg_live_abc' });
    return parsed.mcpServers.boats.args;
  };
  expect(args(CONNECTION.url)).toEqual([
    '-y',
    'mcp-remote',
    CONNECTION.url,
    '--header',
    'Authorization:${AUTHORIZATION}',
  ]);
  expect(args('http://localhost:8080/mcp').at(-1)).toBe('--allow-http');
});

it.each([
  ['Tourism API', 'tourism-api'],
  ['Reiseführer & mehr', 'reisefuhrer-mehr'],
  ['A very long title of an API', 'a-very-long-titl'],
  ['客户', 'api'],
  ['$(rm -rf ~)"', 'rm-rf'],
])('a server of %j is called %s', (title, name) => {
  expect(serverNameOf(title)).toBe(name);
});
