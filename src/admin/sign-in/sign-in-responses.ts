/** Builds the responses to a browser that has signed in, or that needs a second factor. */
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { MemberStore } from '../../members/members.js';
import { Sessions, type BegunSession } from '../../members/sessions.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { SecondFactorSignIn } from '../../members/sign-in/second-factor-sign-in.js';
import type { PasswordResult } from '../../members/sign-in/sign-in.js';
import { Site } from '../access/site.js';
import { AdminNetworks } from '../listener/admin-networks.js';
import { MeReader } from '../me/me-reader.js';
import { setSessionCookies } from './browser.js';
import type { SignInResource } from './sign-in.resource.js';

/** SignInResponses builds these responses and sets their cookies. */
@Injectable()
export class SignInResponses {
  constructor(
    private readonly members: MemberStore,
    private readonly sessions: Sessions,
    private readonly site: Site,
    private readonly me: MeReader,
    private readonly networks: AdminNetworks,
    private readonly secondFactor: SecondFactorSignIn,
  ) {}

  /**
   * Returns the response to a member who has signed in, and sets the session cookies. If the member needs a second
   * factor, starts that step instead.
   */
  async ofMember(
    result: PasswordResult,
    reply: FastifyReply,
    method: 'password' | 'link' = 'password',
  ): Promise<SignInResource> {
    if (result.state === 'second_factor') return await this.ofFirstFactor(result.memberId, method, reply);
    setSessionCookies(reply, this.site, result);
    const { id, email, name, ...stored } = await this.members.get(result.memberId);
    const isOperator = stored.isOperator && this.networks.mayOperate(reply.request.ip);
    const { session, token } = result;
    const me = await this.me.read({ kind: 'member', member: { id, email, name, isOperator }, session, cookie: token });
    return { state: 'signed_in', me };
  }

  /**
   * Starts the second-factor step and returns the response that requests the factor. Sets the cookie of the step, but
   * no session cookie.
   */
  private async ofFirstFactor(
    memberId: string,
    method: 'password' | 'link',
    reply: FastifyReply,
  ): Promise<SignInResource> {
    const { token, expiresAt } = await this.secondFactor.begin(memberId, method);
    reply.header('Set-Cookie', this.site.setCookieValue('step', token));
    return {
      state: 'second_factor',
      ways: ['totp', 'recovery_code'],
      expires_at: formatWithOffset(expiresAt, 'UTC'),
    };
  }

  /** Returns the response to the user of a portal link, and sets the session cookie. */
  async ofPortal({ token }: Pick<BegunSession, 'token'>, reply: FastifyReply): Promise<SignInResource> {
    reply.header('Set-Cookie', this.site.setCookieValue('session', token));
    const live = await this.sessions.findSession(token);
    if (live === undefined || live.portal === null) throw new Error('the new portal session was not found');
    const me = await this.me.read({ kind: 'portal', portal: live.portal, session: live.session, cookie: token });
    return { state: 'signed_in', me };
  }
}
