/** Setup snippets have the format that each assistant reads. */
import { expect, it } from '@jest/globals';
import { CLIENTS, serverNameOf, snippetsOf } from './clients.js';

const CONNECTION = { url: 'https://api.example.com/mcp', server: 'boats', secret: 'tg_live_abc' };
const textOf = (client: (typeof CLIENTS)[number], connection = CONNECTION) =>
  snippetsOf(client, connection)
    .map(({ text }) => text)
    .join('\n');

it.each(['claude-desktop', 'chatgpt', 'cursor', 'vs-code', 'json'] as const)('%s gets valid JSON', (client) => {
  expect(() => void JSON.parse(textOf(client))).not.toThrow();
});

it.each(CLIENTS)('%s gets the server URL, and the key unless it prompts for it', (client) => {
  expect(textOf(client)).toContain(CONNECTION.url);
  expect(textOf(client).includes(CONNECTION.secret)).toBe(client !== 'vs-code');
});

it('Claude Code gets one command line', () => {
  expect(textOf('claude-code')).toBe(
    'claude mcp add --transport http boats https://api.example.com/mcp --header "Authorization: Bearer tg_live_abc"',
  );
});

it('Codex gets its header under http_headers', () => {
  expect(textOf('codex')).toBe(
    '[mcp_servers.boats]\nurl = "https://api.example.com/mcp"\n' +
      'http_headers = { Authorization = "Bearer tg_live_abc" }',
  );
});

it('VS Code prompts for the key instead of storing it', () => {
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

it('Claude Desktop uses mcp-remote, with --allow-http only for a plain HTTP URL', () => {
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
])('the server name for %j is %s', (title, name) => {
  expect(serverNameOf(title)).toBe(name);
});
