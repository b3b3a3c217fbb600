/** The documents by which clients find their way: RFC 9728 of the MCP server, RFC 8414 of the authorization server. */
import { AUTHORIZATION_PATH } from './clients/authorization-requests.js';

/** Where the MCP server is, below the origin. */
export const RESOURCE_PATH = '/mcp';
export const REGISTRATION_PATH = '/register';

/** What the library serves. */
export const ROUTES = { authorization: AUTHORIZATION_PATH, token: '/token', revocation: '/revoke' } as const;

const WELL_KNOWN_RESOURCE = '/.well-known/oauth-protected-resource';
const WELL_KNOWN_SERVER = '/.well-known/oauth-authorization-server';

/** MetadataParts are what the documents say. */
export interface MetadataParts {
  /** Without a slash behind it. */
  readonly issuer: string;
  /** What the API is called. */
  readonly name: () => string;
  readonly scopes: () => readonly string[];
  readonly hasRegistration: boolean;
}

/** Where the document of the MCP server is: what a challenge leads to. */
export const resourceMetadataUrl = (issuer: string): string => `${issuer}${WELL_KNOWN_RESOURCE}${RESOURCE_PATH}`;

/** The document at a path, as JSON; undefined where there is none. */
export function metadataAt(path: string, parts: MetadataParts): string | undefined {
  if (path === WELL_KNOWN_RESOURCE || path === `${WELL_KNOWN_RESOURCE}${RESOURCE_PATH}`) return resource(parts);
  return path === WELL_KNOWN_SERVER ? authorizationServer(parts) : undefined;
}

/** RFC 9728 section 2. */
function resource({ issuer, name, scopes }: MetadataParts): string {
  return JSON.stringify({
    resource: `${issuer}${RESOURCE_PATH}`,
    authorization_servers: [issuer],
    scopes_supported: scopes(),
    bearer_methods_supported: ['header'],
    resource_name: name(),
  });
}

/** RFC 8414 section 2. */
function authorizationServer({ issuer, scopes, hasRegistration }: MetadataParts): string {
  return JSON.stringify({
    issuer,
    authorization_endpoint: `${issuer}${ROUTES.authorization}`,
    token_endpoint: `${issuer}${ROUTES.token}`,
    revocation_endpoint: `${issuer}${ROUTES.revocation}`,
    ...(hasRegistration ? { registration_endpoint: `${issuer}${REGISTRATION_PATH}` } : {}),
    scopes_supported: scopes(),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
}
