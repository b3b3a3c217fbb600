/**
 * Builds the discovery documents for OAuth clients: protected resource metadata (RFC 9728) and authorization server
 * metadata (RFC 8414).
 */
import { AUTHORIZATION_PATH } from './clients/authorization-requests.js';

/** Path of the MCP server. */
export const RESOURCE_PATH = '/mcp';
export const REGISTRATION_PATH = '/register';

/** Paths of the endpoints that the library `oidc-provider` serves. */
export const ROUTES = { authorization: AUTHORIZATION_PATH, token: '/token', revocation: '/revoke' } as const;

const WELL_KNOWN_RESOURCE = '/.well-known/oauth-protected-resource';
const WELL_KNOWN_SERVER = '/.well-known/oauth-authorization-server';

/** MetadataParts holds the values that the documents contain. */
export interface MetadataParts {
  /** Issuer URL, without a trailing slash. */
  readonly issuer: string;
  /** Returns the display name of the MCP server. */
  readonly name: () => string;
  readonly scopes: () => readonly string[];
  readonly hasRegistration: boolean;
}

/** Returns the URL of the protected resource metadata, for the `WWW-Authenticate` field. */
export const resourceMetadataUrl = (issuer: string): string => `${issuer}${WELL_KNOWN_RESOURCE}${RESOURCE_PATH}`;

/** Returns the discovery document at a path as JSON. Undefined if the path belongs to no document. */
export function metadataAt(path: string, parts: MetadataParts): string | undefined {
  if (path === WELL_KNOWN_RESOURCE || path === `${WELL_KNOWN_RESOURCE}${RESOURCE_PATH}`) return resource(parts);
  return path === WELL_KNOWN_SERVER ? authorizationServer(parts) : undefined;
}

/** Builds the protected resource metadata (RFC 9728 section 2). */
function resource({ issuer, name, scopes }: MetadataParts): string {
  return JSON.stringify({
    resource: `${issuer}${RESOURCE_PATH}`,
    authorization_servers: [issuer],
    scopes_supported: scopes(),
    bearer_methods_supported: ['header'],
    resource_name: name(),
  });
}

/** Builds the authorization server metadata (RFC 8414 section 2). */
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
