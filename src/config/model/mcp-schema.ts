/** Schema of the MCP settings in `gateway.yaml` and OpenAPI documents. */
import { z } from 'zod';
import { address, host, isLoopbackHost, origin } from './address-values.js';
import { port, tlsPair } from './listener-schema.js';
import { untilRestart } from './until-restart.js';
import { duration, size } from './values.js';

/** Valid tool names: accepted by all clients, also with a server name as prefix. */
export const TOOL_NAME_PATTERN = /^[a-z][a-z0-9_]{0,39}$/;
export const TOOL_NAME_MESSAGE = 'must have 1 to 40 lower-case letters, digits and _, and begin with a letter';
export const TOOL_MESSAGE =
  'must be true, false, or a map of `name`, `title`, `description` and what else a tool is told';

const LONGEST_DESCRIPTION = 2_000;
const MOST_TOOLS = 2_000;
const LEAST_RESPONSE_BYTES = 1024;
const MOST_RESPONSE_BYTES = 1024 ** 2;

const text = z.string().regex(/\S/, 'must not be empty');

/** Validates the settings of a tool. */
export const toolSettings = z.strictObject({
  name: z.string().regex(TOOL_NAME_PATTERN, TOOL_NAME_MESSAGE).optional().describe('What assistants call it by.'),
  title: text.max(100, 'must have at most 100 characters').optional().describe('What people read.'),
  description: text
    .max(LONGEST_DESCRIPTION, `must have at most ${LONGEST_DESCRIPTION} characters`)
    .optional()
    .describe('What it does and when to use it, for assistants.'),
  hide: z.array(text).max(1_000).optional().describe('Parameters, and fields of the body, that assistants do not see.'),
  fixed: z
    .record(text, z.unknown())
    .optional()
    .describe('Parameters, and fields of the body, that always have this value, and are not seen.'),
  readOnly: z.boolean().optional().describe('Whether it changes nothing; unless said, what its method promises.'),
  destructive: z.boolean().optional().describe('Whether it may overwrite or remove something.'),
  idempotent: z.boolean().optional().describe('Whether a second call with the same arguments changes nothing more.'),
  response: z
    .enum(['data', 'text'])
    .optional()
    .describe('`data`: with its schema, as structured content too; `text`: as text alone, which costs fewer tokens.'),
});

/** Validates `x-mcp` of an OpenAPI operation and `mcp` of an entry of `operations`. */
export const operationTool = z.union([z.boolean(), toolSettings], TOOL_MESSAGE);

/** Settings of a tool. */
export type ToolSettings = z.output<typeof toolSettings>;

export const OAUTH_URL_MESSAGE =
  'must be an origin such as https://mcp.example.com, in lower case and without a slash behind it';
export const OAUTH_PLAIN_URL_MESSAGE = 'must be https: over http, codes and tokens could be read on the way';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Validates `mcp.oauth`. Without it there is no authorization server. */
const oauth = z
  .strictObject({
    publicUrl: z
      .string()
      .refine((text) => text !== '*' && origin.safeParse(text).success && /^https?:/.test(text), {
        error: OAUTH_URL_MESSAGE,
        abort: true,
      })
      .refine((text) => text.startsWith('https:') || isLoopbackHost(new URL(text).hostname), OAUTH_PLAIN_URL_MESSAGE)
      .describe('Origin under which clients reach it; another one than that of the API. /mcp is below it.'),
    host: host.default('127.0.0.1').describe('Address to listen on.'),
    port: port.default(8082).describe('Port to listen on; 0: any free one, but not with --workers.'),
    tls: tlsPair.describe('Certificate and key files (PEM), read again when they change. Without it: plain HTTP.'),
    registration: z
      .boolean()
      .default(false)
      .describe('Whether clients may register themselves (RFC 7591), as those do that have no document of themselves.'),
    tokenLifetime: duration
      .refine((ms) => ms >= MINUTE_MS && ms <= DAY_MS, 'must be from 1m to 24h')
      .prefault('1h')
      .describe('How long an access token works before its client has to ask for the next.'),
    trustedNetworks: z
      .array(address)
      .default([])
      .describe('Networks of services that many people use; from each a hundredfold is taken.'),
    longestAccess: z.int().min(1).max(3_650).default(90).describe('How many days a person may let a client in for.'),
  })
  .optional()
  .describe('The authorization server (OAuth 2.1), on an origin of its own. Without it: keys alone.');

/** Validated settings of the authorization server. */
export type OAuthConfig = NonNullable<z.output<typeof oauth>>;

/** Returns the maximum lifetime of an OAuth grant in milliseconds; 0 without an authorization server. */
export function longestAccessMs({ oauth: settings }: Pick<McpConfig, 'oauth'>): number {
  return (settings?.longestAccess ?? 0) * DAY_MS;
}

/** Validates `mcp`. */
export const mcp = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Whether there is an MCP server at /mcp; without tools there is none.'),
    name: text
      .max(100, 'must have at most 100 characters')
      .optional()
      .describe('What the server is called; `api.title` unless said.'),
    instructions: z
      .string()
      .max(LONGEST_DESCRIPTION, `must have at most ${LONGEST_DESCRIPTION} characters`)
      .optional()
      .describe('What assistants should know before they call anything.'),
    allowedOrigins: z
      .array(origin)
      .default([])
      .describe('Pages that may speak to the MCP server from a browser, as origins; `"*"`: every one.'),
    allowedHosts: z
      .array(host)
      .default([])
      .describe('Names under which it may be asked beside that of api.publicUrl, without a port.'),
    mostListed: z
      .int()
      .min(1)
      .max(MOST_TOOLS)
      .default(25)
      .describe('Most tools that a key is shown one by one; beyond, assistants search them.'),
    maxResponseBytes: size
      .refine((bytes) => bytes >= LEAST_RESPONSE_BYTES && bytes <= MOST_RESPONSE_BYTES, 'must be from 1KiB to 1MiB')
      .prefault('64KiB')
      .describe('Most of a response that an assistant is given; the rest is asked for page by page.'),
    oauth: untilRestart(oauth),
  })
  .prefault({})
  .describe('The MCP server, by which AI assistants call operations as tools.');

/** Validated settings of the MCP server. */
export type McpConfig = z.output<typeof mcp>;
