/** How AI assistants are told of the server: what each takes, ready to be copied. */

/** What an assistant has to know. */
export interface Connection {
  /** Of the MCP server. */
  readonly url: string;
  /** What the server is called within the assistant. */
  readonly server: string;
  /** The key. */
  readonly secret: string;
}

/** One text to copy, and where it belongs. */
export interface Snippet {
  /** A file, a page of settings, or a field there; in the words of the assistant. */
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

/** What stands in place of a secret that is not known. */
export const PLACEHOLDER = 'YOUR_API_KEY';

/** With the name of a tool behind it, it has to be what the strictest of them take: 64 characters in all. */
const LONGEST_SERVER = 16;

/** `Tourism API` → `tourism-api`. */
export function serverNameOf(title: string): string {
  const plain = title.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const slug = plain.replaceAll(/[^a-z0-9]+/g, '-').slice(0, LONGEST_SERVER);
  return slug.replaceAll(/^-+|-+$/g, '') || 'api';
}

/** What is copied for an assistant, in the order in which it is needed. */
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

/** Whether an assistant asks for the key by itself, so that it stands in no file. */
export const asksForKey = (client: Client): boolean => client === 'vs-code';

/** Claude Desktop starts programs only: this one speaks HTTP for it. Spaces in arguments are lost on Windows. */
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

/** Codex reads `http_headers`, and passes over `headers`. */
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
