/**
 * Authenticates requests to `/mcp` at the authorization server's origin, before the gateway serves them. Only OAuth
 * access tokens are accepted, not API keys. The errors point to the resource metadata (RFC 9728 section 5.1), so that
 * clients can start an authorization.
 */
import type { IncomingMessage } from 'node:http';
import { markForAuthenticator, type TokenAuthenticator } from '../keys/clients/token-authenticator.js';
import { isAccessToken } from '../keys/api-key-format.js';
import { FixedProblem, type Problem } from '../platform/problems/errors.js';
import { resourceMetadataUrl } from './metadata.js';

const BEARER = /^bearer +(\S+) *$/i;

const DETAILS: Readonly<Record<string, string>> = {
  missing_api_key: 'Authorize this client first: this address accepts OAuth 2.1 access tokens, not API keys.',
  invalid_api_key: 'The access token is invalid or has expired.',
  revoked_api_key: 'The authorization of this client was revoked.',
  expired_api_key: 'The access token has expired. Ask for the next one with the refresh token.',
};

/**
 * McpTokenAuthenticator extracts access tokens from requests, and replaces authentication errors for API keys with
 * OAuth errors.
 */
export class McpTokenAuthenticator implements TokenAuthenticator {
  private readonly refusals = new Map<string, Problem>();

  constructor(private readonly issuer: string) {}

  /**
   * Marks a request for this authenticator. Removes its `Authorization` field if the field has no access token, so that
   * the gateway accepts no API key at `/mcp`.
   */
  prepareRequest(message: IncomingMessage): void {
    markForAuthenticator(this, message);
    const [, token = ''] = BEARER.exec(message.headers.authorization ?? '') ?? [];
    if (!isAccessToken(token)) delete message.headers.authorization;
  }

  readToken(authorization: string | undefined): string | Problem {
    const [, token = ''] = BEARER.exec(authorization ?? '') ?? [];
    return isAccessToken(token) ? token : this.reworded('missing_api_key');
  }

  toTokenProblem(problem: Problem): Problem {
    return problem.status === 401 ? this.reworded(problem.code) : problem;
  }

  private reworded(code: Problem['code']): Problem {
    const known = this.refusals.get(code);
    if (known !== undefined) return known;
    const detail = DETAILS[code] ?? DETAILS['invalid_api_key'] ?? '';
    const error = code === 'missing_api_key' ? '' : ` error="invalid_token", error_description="${detail}",`;
    const challenge = `Bearer realm="mcp",${error} resource_metadata="${resourceMetadataUrl(this.issuer)}"`;
    const reworded = new FixedProblem(code, { detail, headers: ['WWW-Authenticate', challenge] });
    this.refusals.set(code, reworded);
    return reworded;
  }
}
