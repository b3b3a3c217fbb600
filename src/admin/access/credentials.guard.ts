/**
 * Authenticates callers by the operator token, an account token or a session cookie. Responds with 401 for missing or
 * invalid credentials, and with 400 for a malformed header (RFC 6750). Responds with 403 if an account token does not
 * allow the address, and with 429 after too many rejected requests of a network.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { ThrottlerStorage } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import { AdminNetworks } from '../listener/admin-networks.js';
import { AccountTokens } from '../../members/account-tokens.js';
import { needsNoSignIn } from '../../members/permissions.js';
import { Sessions } from '../../members/sessions.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { bearerToken, CHALLENGE, isBearer, noCredentials, wrongToken } from './bearer.js';
import { countAnonymous, countWrongToken } from './caller-limits.js';
import { CLOCK } from './recent-confirmation.js';
import { CredentialLookups } from './credential-lookups.js';
import { operationOf } from '../openapi/operation-decorator.js';
import { setPrincipal, type Principal } from './principal.js';
import { isPublic } from './public.js';
import { Site } from './site.js';

/** Nest injection token of the operator token (a string). */
export const OPERATOR_TOKEN = Symbol('OperatorToken');

@Injectable()
export class CredentialsGuard implements CanActivate {
  private readonly operatorTokenDigest: Buffer;
  private readonly lookups: CredentialLookups;

  constructor(
    @Inject(OPERATOR_TOKEN) token: string,
    @Inject(ThrottlerStorage) private readonly storage: ThrottlerStorage,
    private readonly tokens: AccountTokens,
    private readonly sessions: Sessions,
    private readonly site: Site,
    private readonly networks: AdminNetworks,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.operatorTokenDigest = digest(token);
    this.lookups = new CredentialLookups(clock);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (isPublic(context) || needsNoSignIn(operationOf(context).permission)) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    setPrincipal(request, await this.principalOf(request));
    return true;
  }

  /**
   * Returns the authenticated caller of a request. A token takes precedence over a cookie, because browsers send
   * cookies automatically.
   */
  private async principalOf(request: FastifyRequest): Promise<Principal> {
    const { authorization, cookie } = request.headers;
    try {
      const token = bearerToken(authorization);
      if (token !== undefined) return await this.authenticateToken(token, request.ip);
      // Ignore other schemes, because a reverse proxy may require Basic credentials for itself.
      const session = this.site.readCookie(cookie, 'session');
      if (session !== undefined) return await this.authenticateSession(session, request);
      throw noCredentials();
    } catch (error) {
      // Count rejected requests only, not database errors. Valid credentials are never locked out, because their owner
      // may share the address with an attacker.
      if (!(error instanceof Problem)) throw error;
      await this.countRefused(isBearer(authorization), request.ip);
      throw error;
    }
  }

  /**
   * Counts a rejected request. If its network exceeds the limit, rejects with 429 and limits the credential lookups of
   * the network.
   */
  private async countRefused(isToken: boolean, ip: string): Promise<void> {
    try {
      await (isToken ? countWrongToken : countAnonymous)(this.storage, ip);
    } catch (error) {
      if (error instanceof Problem) this.lookups.limitNetwork(ip);
      throw error;
    }
  }

  private async authenticateToken(token: string, ip: string): Promise<Principal> {
    // Digests have equal length, so the comparison time reveals neither length nor content of the token.
    const isOperatorToken = timingSafeEqual(digest(token), this.operatorTokenDigest);
    // Outside the operator networks, the operator token is rejected like any unknown token.
    if (isOperatorToken && this.networks.mayOperate(ip)) return { kind: 'operator' };
    const found = await this.lookups.run(ip, token, async () => (await this.tokens.find(token)) ?? refuseToken());
    if (!this.tokens.mayBeUsedFrom(found, ip)) {
      throw new Problem('forbidden', { detail: 'This token may not be used from this address.' });
    }
    return { kind: 'token', token: found };
  }

  private async authenticateSession(cookie: string, { ip, method, headers }: FastifyRequest): Promise<Principal> {
    // The panel marks its background polling as unattended, so that polling does not extend the session. A forged
    // header can only end the session of its sender sooner.
    const isAttended = method !== 'GET' || headers['x-unattended'] === undefined;
    const find = async () => (await this.sessions.findSession(cookie, isAttended)) ?? refuseSession();
    const { session, member, portal } = await this.lookups.run(ip, cookie, find);
    if (member === null) return { kind: 'portal', portal, session, cookie };
    // Outside the operator networks, an operator has only the rights of a member.
    const isOperator = member.isOperator && this.networks.mayOperate(ip);
    return { kind: 'member', member: { ...member, isOperator }, session, cookie };
  }
}

function refuseToken(): never {
  throw wrongToken();
}

function refuseSession(): never {
  // Don't clear the cookie. A late response would remove the cookie of a newer sign-in.
  throw new Problem('session_ended', {
    detail: 'You are not signed in any more. Sign in again.',
    headers: ['WWW-Authenticate', CHALLENGE],
  });
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
