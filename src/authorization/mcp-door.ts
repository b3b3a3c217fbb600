/**
 * Entrance of the MCP server for access tokens. Requests take the normal path of the gateway. Only authentication
 * differs: it accepts access tokens, and refusals point to the resource metadata (RFC 9728 section 5.1).
 */
import type { IncomingMessage } from 'node:http';
import { enterBy, type TokenDoor } from '../keys/clients/token-door.js';
import { isAccessToken } from '../keys/api-key-format.js';
import { FixedProblem, type Problem } from '../platform/problems/errors.js';
import { resourceMetadataUrl } from './metadata.js';

const BEARER = /^bearer +(\S+) *$/i;

const DETAILS: Readonly<Record<string, string>> = {
  missing_api_key: 'Connect, and be let in by a person: this address takes access tokens (OAuth 2.1) and no API keys.',
  invalid_api_key: 'There is no such access token, or it is over.',
  revoked_api_key: 'What this client was let in by has been taken back.',
  expired_api_key: 'The access token has expired. Ask for the next one with the refresh token.',
};

/** McpTokenDoor extracts access tokens and words refusals. */
export class McpTokenDoor implements TokenDoor {
  private readonly refusals = new Map<string, Problem>();

  constructor(private readonly issuer: string) {}

  /**
   * Marks a message as coming through this entrance. Removes an API key from it, since this entrance accepts only
   * access tokens.
   */
  enter(message: IncomingMessage): void {
    enterBy(this, message);
    const [, token = ''] = BEARER.exec(message.headers.authorization ?? '') ?? [];
    if (!isAccessToken(token)) delete message.headers.authorization;
  }

  read(authorization: string | undefined): string | Problem {
    const [, token = ''] = BEARER.exec(authorization ?? '') ?? [];
    return isAccessToken(token) ? token : this.reworded('missing_api_key');
  }

  refusal(problem: Problem): Problem {
    return problem.status === 401 ? this.reworded(problem.code) : problem;
  }

  private reworded(code: Problem['code']): Problem {
    const known = this.refusals.get(code);
    if (known !== undefined) return known;
    const detail = DETAILS[code] ?? DETAILS['invalid_api_key'] ?? '';
    const error = code === 'missing_api_key' ? '' : ` error="invalid_token", error_description="${detail}",`;
    const challenge = `Bearer realm="mcp",${error} resource_metadata="${resourceMetadataUrl(this.issuer)}"`;
    const made = new FixedProblem(code, { detail, headers: ['WWW-Authenticate', challenge] });
    this.refusals.set(code, made);
    return made;
  }
}
