/** Builds the `server.json` that describes the MCP server to the MCP registry (schema 2025-12-11). */
import type { Config } from '../../config/model/schema.js';

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
const NAME = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;
const LONGEST_NAME = 200;
const LONGEST_TITLE = 100;
const LONGEST_DESCRIPTION = 100;
/** Matches host names that are not public, and all IP addresses. */
const LOCAL_HOST = /^(?:localhost|.*\.(?:localhost|local|internal|test)|\[.*\]|[\d.]+|[^.]+)$/;

/** ServerJsonOptions are the options of `trailgate server-json`. */
export interface ServerJsonOptions {
  /** Name such as `com.example/customers`. Default: derived from the public URL. */
  readonly name?: string;
  readonly version: string;
  /** Purpose of the server. Longer texts are cut to 100 characters. */
  readonly description?: string;
}

/** Returns the document, or the reason for which the registry would reject it. */
export function serverJson(
  { file: { mcp, api }, publicUrl, tools = [] }: Config,
  { name: givenName, version, description: givenDescription }: ServerJsonOptions,
): { readonly document: object } | { readonly problem: string } {
  const { protocol, hostname } = new URL(publicUrl);
  if (!mcp.enabled || tools.length === 0) return { problem: 'there is no MCP server: no operation is a tool' };
  if (protocol !== 'https:' || LOCAL_HOST.test(hostname)) {
    return { problem: `the registry only lists servers with a public HTTPS URL; api.publicUrl is ${publicUrl}` };
  }
  const title = shorten(mcp.name ?? api.title, LONGEST_TITLE);
  const name = givenName ?? `${hostname.split('.').toReversed().join('.')}/${slug(title)}`;
  if (!NAME.test(name) || name.length > LONGEST_NAME) {
    return {
      problem: `a name must be a reversed domain, / and a word, such as com.example/customers, not ${name.slice(0, 100)}`,
    };
  }
  if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version)) {
    return { problem: `a version must be exact, such as 1.0.2, not ${version.slice(0, 100)}` };
  }
  const key = { description: `An API key of ${title}.`, isRequired: true, isSecret: true };
  const authorization = { ...key, name: 'Authorization', value: 'Bearer {api_key}', variables: { api_key: key } };
  return {
    document: {
      $schema: SCHEMA,
      name,
      title,
      description: shorten(
        givenDescription ?? `${title}: ${count(tools.length)} for AI assistants.`,
        LONGEST_DESCRIPTION,
      ),
      version,
      websiteUrl: `${publicUrl}/docs`,
      remotes: [{ type: 'streamable-http', url: `${publicUrl}/mcp`, headers: [authorization] }],
    },
  };
}

function count(tools: number): string {
  return `${tools} tool${tools === 1 ? '' : 's'}`;
}

function shorten(text: string, longest: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1).trimEnd()}…`;
}

/** Returns a title as a part of a name. `Tourism API` becomes `tourism-api`. */
function slug(title: string): string {
  const plain = title.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'api';
}
