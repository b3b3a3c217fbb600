/** Setup snippets for each AI assistant, ready to copy. */

/** Connection details of the MCP server. */
export interface Connection {
  /** URL of the MCP server. */
  readonly url: string;
  /** Name of the server in the assistant. */
  readonly server: string;
  /** Secret of the key. */
  readonly secret: string;
}

/** A text to copy, and where it goes. */
export interface Snippet {
  /** A file, a settings page or a field, in the assistant's words. */
  readonly place: string;
  readonly text: string;
}

export const CLIENTS = [
  'claude-code',
  'claude-desktop',
  'claude-ai',
  'chatgpt',
  'cursor',
  'vs-code',
  'codex',
  'json',
] as const;
export type Client = (typeof CLIENTS)[number];

/** Replaces an unknown secret. */
export const PLACEHOLDER = 'YOUR_API_KEY';

/** Some assistants limit server and tool name together to 64 characters. */
const LONGEST_SERVER = 16;

/** Returns a server name: `Tourism API` → `tourism-api`. */
export function serverNameOf(title: string): string {
  const plain = title.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const slug = plain.replaceAll(/[^a-z0-9]+/g, '-').slice(0, LONGEST_SERVER);
  return slug.replaceAll(/^-+|-+$/g, '') || 'api';
}

/** Returns the snippets for an assistant, in the order of the setup. */
export function snippetsOf(client: Client, { url, server, secret }: Connection): readonly Snippet[] {
  const bearer = `Bearer ${secret}`;
  const headers = { Authorization: bearer };
  switch (client) {
    case 'claude-code':
      return [
        {
          place: 'Terminal',
          text: `claude mcp add --transport http ${server} ${url} --header "Authorization: ${bearer}"`,
        },
      ];
    case 'claude-desktop':
      return [{ place: 'claude_desktop_config.json', text: json({ mcpServers: { [server]: bridge(url, bearer) } }) }];
    case 'claude-ai':
      return [
        { place: 'Remote MCP server URL', text: url },
        { place: 'Request headers: Authorization', text: bearer },
      ];
    case 'chatgpt':
      return [
        {
          place: 'Responses API: tools',
          text: json([{ type: 'mcp', server_label: server, server_url: url, authorization: secret }]),
        },
      ];
    case 'cursor':
      return [{ place: '~/.cursor/mcp.json', text: json({ mcpServers: { [server]: { url, headers } } }) }];
    case 'vs-code':
      return [{ place: '.vscode/mcp.json', text: json(askedFor(url, server)) }];
    case 'codex':
      return [{ place: '~/.codex/config.toml', text: toml(url, server, bearer) }];
    case 'json':
      return [{ place: 'mcp.json', text: json({ mcpServers: { [server]: { type: 'http', url, headers } } }) }];
  }
}

/** Reports whether an assistant asks for the key itself, so that no file contains it. */
export const asksForKey = (client: Client): boolean => client === 'vs-code';

/** Claude Desktop only starts local programs, and this one connects over HTTP. Windows loses spaces in arguments. */
function bridge(url: string, bearer: string): object {
  const insecure = url.startsWith('http:') ? ['--allow-http'] : [];
  const args = ['-y', 'mcp-remote', url, '--header', 'Authorization:${AUTHORIZATION}', ...insecure];
  return { command: 'npx', args, env: { AUTHORIZATION: bearer } };
}

function askedFor(url: string, server: string): object {
  const id = `${server}-key`;
  return {
    inputs: [{ type: 'promptString', id, description: 'API key', password: true }],
    servers: { [server]: { type: 'http', url, headers: { Authorization: `Bearer \${input:${id}}` } } },
  };
}

/** Codex reads `http_headers` and ignores `headers`. */
function toml(url: string, server: string, bearer: string): string {
  return [
    `[mcp_servers.${server}]`,
    `url = ${JSON.stringify(url)}`,
    `http_headers = { Authorization = ${JSON.stringify(bearer)} }`,
  ].join('\n');
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
