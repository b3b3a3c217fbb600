/** Defines the schemas of the MCP settings in `gateway.yaml` and in OpenAPI documents. */
import { z } from 'zod';
import { address, host, isLoopbackHost, origin } from './address-values.js';
import { port, tlsPair } from './listener-schema.js';
import { untilRestart } from './until-restart.js';
import { duration, size } from './values.js';

/** Matches tool names that all MCP clients accept, including clients that add the name of the server as a prefix. */
export const TOOL_NAME_PATTERN = /^[a-z][a-z0-9_]{0,39}$/;
export const TOOL_NAME_MESSAGE = 'must have 1 to 40 lower-case letters, digits and _, and begin with a letter';
export const TOOL_MESSAGE =
  'must be true, false, or a map of `name`, `title`, `description` and what else a tool is told';

const LONGEST_DESCRIPTION = 2_000;
const MAX_TOOLS = 2_000;
const MIN_RESPONSE_BYTES = 1024;
const MAX_RESPONSE_BYTES = 1024 ** 2;

const text = z.string().regex(/\S/, 'must not be empty');

/** Validates the settings of one tool. */
export const toolSettings = z.strictObject({
  name: z.string().regex(TOOL_NAME_PATTERN, TOOL_NAME_MESSAGE).optional().describe('Name for assistants.'),
  title: text.max(100, 'must have at most 100 characters').optional().describe('Name for people.'),
  description: text
    .max(LONGEST_DESCRIPTION, `must have at most ${LONGEST_DESCRIPTION} characters`)
    .optional()
    .describe('What it does and when to use it, for assistants.'),
  hide: z.array(text).max(1_000).optional().describe('Parameters and body fields that assistants do not see.'),
  fixed: z.record(text, z.unknown()).optional().describe('Parameters and body fields with a fixed, hidden value.'),
  readOnly: z.boolean().optional().describe('Whether it changes nothing; by default as its method implies.'),
  destructive: z.boolean().optional().describe('Whether it may overwrite or remove something.'),
  idempotent: z.boolean().optional().describe('Whether a second call with the same arguments changes nothing more.'),
  response: z
    .enum(['data', 'text'])
    .optional()
    .describe('`data`: structured content with its schema; `text`: text only, which costs fewer tokens.'),
});

/** Validates `x-mcp` of an OpenAPI operation and `mcp` of an entry of `operations`. */
export const operationTool = z.union([z.boolean(), toolSettings], TOOL_MESSAGE);

/** Validated settings of one tool. */
export type ToolSettings = z.output<typeof toolSettings>;

export const OAUTH_URL_MESSAGE =
  'must be an origin such as https://mcp.example.com, in lower case and without a slash behind it';
export const OAUTH_PLAIN_URL_MESSAGE = 'must be https: over http, codes and tokens could be read on the way';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Validates `mcp.oauth`. Without this setting, the program runs no authorization server. */
const oauth = z
  .strictObject({
    publicUrl: z
      .string()
      .refine((text) => text !== '*' && origin.safeParse(text).success && /^https?:/.test(text), {
        error: OAUTH_URL_MESSAGE,
        abort: true,
      })
      .refine((text) => text.startsWith('https:') || isLoopbackHost(new URL(text).hostname), OAUTH_PLAIN_URL_MESSAGE)
      .describe("Origin for clients, different from the API's, with /mcp below it."),
    host: host.default('127.0.0.1').describe('Address to listen on.'),
    port: port.default(8082).describe('Port to listen on; 0: any free one, not with --workers.'),
    tls: tlsPair.describe('Certificate and key files (PEM), read again when they change. Without it: plain HTTP.'),
    registration: z
      .boolean()
      .default(false)
      .describe('Whether clients without a document can register themselves (RFC 7591).'),
    tokenLifetime: duration
      .refine((ms) => ms >= MINUTE_MS && ms <= DAY_MS, 'must be from 1m to 24h')
      .prefault('1h')
      .describe('Lifetime of an access token.'),
    trustedNetworks: z
      .array(address)
      .default([])
      .describe('Networks of services that many people use; limits there are a hundredfold.'),
    longestAccess: z.int().min(1).max(3_650).default(90).describe('Most days for which a person can approve a client.'),
  })
  .optional()
  .describe('The authorization server (OAuth 2.1), on a separate origin. Without it: only keys.');

/** Validated settings of the authorization server. */
export type OAuthConfig = NonNullable<z.output<typeof oauth>>;

/** Returns the maximum lifetime of an OAuth grant in milliseconds, or 0 without an authorization server. */
export function longestAccessMs({ oauth: settings }: Pick<McpConfig, 'oauth'>): number {
  return (settings?.longestAccess ?? 0) * DAY_MS;
}

/** Validates `mcp`. */
export const mcp = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Whether there is an MCP server at /mcp, if there are tools.'),
    name: text
      .max(100, 'must have at most 100 characters')
      .optional()
      .describe('Name of the server; `api.title` by default.'),
    instructions: z
      .string()
      .max(LONGEST_DESCRIPTION, `must have at most ${LONGEST_DESCRIPTION} characters`)
      .optional()
      .describe('Instructions for assistants.'),
    allowedOrigins: z
      .array(origin)
      .default([])
      .describe('Origins of pages that may use the MCP server from a browser; `"*"`: all.'),
    allowedHosts: z
      .array(host)
      .default([])
      .describe('Further host names in addition to that of api.publicUrl, without a port.'),
    mostListed: z
      .int()
      .min(1)
      .max(MAX_TOOLS)
      .default(25)
      .describe('Most tools listed for a key; above that, assistants search them.'),
    maxResponseBytes: size
      .refine((bytes) => bytes >= MIN_RESPONSE_BYTES && bytes <= MAX_RESPONSE_BYTES, 'must be from 1KiB to 1MiB')
      .prefault('64KiB')
      .describe('Largest part of a response for an assistant; it requests the rest page by page.'),
    oauth: untilRestart(oauth),
  })
  .prefault({})
  .describe('The MCP server, through which AI assistants call operations as tools.');

/** Validated settings of the MCP server. */
export type McpConfig = z.output<typeof mcp>;
