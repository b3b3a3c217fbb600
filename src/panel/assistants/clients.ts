/** Configuration snippets with which the user connects each AI assistant to the MCP server. */

/** Connection details of the MCP server that the snippets contain. */
export interface Connection {
  /** URL of the MCP server. */
  readonly url: string;
  /** Name of the MCP server in the assistant's configuration. */
  readonly server: string;
  /** Secret of the API key, or a placeholder. */
  readonly secret: string;
}

/** Text to copy, and where the user pastes it. */
export interface Snippet {
  /** File, settings page or field, as the assistant names it. */
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

/** Text in snippets where the user must insert the secret, because the page does not know the secret. */
export const PLACEHOLDER = 'YOUR_API_KEY';

/**
 * Maximum length of a server name, in characters. Some assistants allow 64 characters for server and tool name
 * together.
 */
const MAX_SERVER_NAME_LENGTH = 16;

/**
 * Derives a server name from the title of the API, such as `tourism-api` from `Tourism API`. Returns `api` if no letter
 * or digit remains.
 */
export function serverNameOf(title: string): string {
  const plain = title.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const slug = plain.replaceAll(/[^a-z0-9]+/g, '-').slice(0, MAX_SERVER_NAME_LENGTH);
  return slug.replaceAll(/^-+|-+$/g, '') || 'api';
}

/** Returns the snippets for an assistant, in the order in which the user needs them. */
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
      return [
        { place: 'claude_desktop_config.json', text: jsonSnippet({ mcpServers: { [server]: bridge(url, bearer) } }) },
      ];
    case 'claude-ai':
      return [
        { place: 'Remote MCP server URL', text: url },
        { place: 'Request headers: Authorization', text: bearer },
      ];
    case 'chatgpt':
      return [
        {
          place: 'Responses API: tools',
          text: jsonSnippet([{ type: 'mcp', server_label: server, server_url: url, authorization: secret }]),
        },
      ];
    case 'cursor':
      return [{ place: '~/.cursor/mcp.json', text: jsonSnippet({ mcpServers: { [server]: { url, headers } } }) }];
    case 'vs-code':
      return [{ place: '.vscode/mcp.json', text: jsonSnippet(vsCodeConfig(url, server)) }];
    case 'codex':
      return [{ place: '~/.codex/config.toml', text: codexConfig(url, server, bearer) }];
    case 'json':
      return [{ place: 'mcp.json', text: jsonSnippet({ mcpServers: { [server]: { type: 'http', url, headers } } }) }];
  }
}

/** Reports whether an assistant prompts for the key, so that its configuration file does not contain the key. */
export const asksForKey = (client: Client): boolean => client === 'vs-code';

/**
 * Returns the server entry for Claude Desktop, which only starts local programs. The program `mcp-remote` connects to
 * the server over HTTP. An environment variable holds the secret, because Windows loses spaces in arguments.
 */
function bridge(url: string, bearer: string): object {
  const insecure = url.startsWith('http:') ? ['--allow-http'] : [];
  const args = ['-y', 'mcp-remote', url, '--header', 'Authorization:${AUTHORIZATION}', ...insecure];
  return { command: 'npx', args, env: { AUTHORIZATION: bearer } };
}

/** Returns a configuration for VS Code. When VS Code connects, it prompts for the key. */
function vsCodeConfig(url: string, server: string): object {
  const id = `${server}-key`;
  return {
    inputs: [{ type: 'promptString', id, description: 'API key', password: true }],
    servers: { [server]: { type: 'http', url, headers: { Authorization: `Bearer \${input:${id}}` } } },
  };
}

/** Returns a TOML configuration for Codex. Codex reads `http_headers` and ignores `headers`. */
function codexConfig(url: string, server: string, bearer: string): string {
  return [
    `[mcp_servers.${server}]`,
    `url = ${JSON.stringify(url)}`,
    `http_headers = { Authorization = ${JSON.stringify(bearer)} }`,
  ].join('\n');
}

function jsonSnippet(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
