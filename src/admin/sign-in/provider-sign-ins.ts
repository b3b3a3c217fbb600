/**
 * Starts and completes sign-ins at identity providers. Each sign-in has a purpose: signing in, accepting an invitation,
 * linking an identity, or confirming the identity of the member.
 */
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { Identities } from '../../members/providers/identities.js';
import { ProviderInvitations } from '../../members/providers/provider-invitations.js';
import { ProviderSignIn } from '../../members/providers/provider-sign-in.js';
import type { ProviderArrival, ProviderJourney, ProviderPurpose } from '../../members/providers/providers.js';
import { SignInMethods } from '../../members/sign-in-methods.js';
import { Sessions, type LiveSession, type Session, type SessionMember } from '../../members/sessions.js';
import { SignInAttempts } from '../../members/sign-in/attempts.js';
import type { Browser, SignedInMember } from '../../members/sign-in/sign-in.js';
import { Problem } from '../../platform/problems/errors.js';
import { CHALLENGE } from '../access/bearer.js';
import { RecentConfirmation } from '../access/recent-confirmation.js';
import { countFailedTries } from './link-attempts.js';
import { linkToken } from './sign-in.resource.js';

const PURPOSES =
  '`sign_in`; `invitation`: accepts the invitation of `token`; `link`: links the identity to the ' +
  'signed-in member; `confirm`: confirms their identity with a fresh sign-in.';

export const beginSchema = z
  .strictObject({
    purpose: z.enum(['sign_in', 'invitation', 'link', 'confirm']).default('sign_in').meta({ description: PURPOSES }),
    token: linkToken.optional(),
    return_to: z.string().max(2_000).optional().meta({ description: 'Page of the panel to return to.' }),
  })
  .refine(({ purpose, token }) => (purpose === 'invitation') === (token !== undefined), {
    path: ['token'],
    error: 'is only allowed with the purpose `invitation`',
  })
  .meta({ id: 'BeginProviderSignIn' });

export type BeginProviderSignIn = z.output<typeof beginSchema>;

/**
 * Purposes that need a signed-in member. On failure, the browser returns to the page where the member started, not to
 * the sign-in page.
 */
const PURPOSES_OF_MEMBERS: ReadonlySet<ProviderPurpose> = new Set(['link', 'confirm']);

/** Base for parsing relative URLs. Nothing connects to this origin. */
const ANY_ORIGIN = 'http://localhost';

type LiveMemberSession = Extract<LiveSession, { readonly portal: null }>;

/**
 * ProviderSignIns starts and completes sign-ins at identity providers. A journey is the data of a sign-in that waits
 * for the browser to return.
 */
@Injectable()
export class ProviderSignIns {
  constructor(
    private readonly signIn: ProviderSignIn,
    private readonly invitations: ProviderInvitations,
    private readonly identities: Identities,
    private readonly sessions: Sessions,
    private readonly confirmed: RecentConfirmation,
    private readonly signInMethods: SignInMethods,
    private readonly attempts: SignInAttempts,
  ) {}

  /**
   * Checks a request to start a sign-in. The route allows callers without a session, so `begin` checks the session that
   * `link` and `confirm` need.
   * @returns the data to keep until the browser returns from the provider
   * @throws Problem `missing_credentials`, `confirmation_required`, `conflict`, `link_ended`,
   * `too_many_failed_attempts`
   */
  async begin(issuer: string, body: BeginProviderSignIn, browser: Browser): Promise<ProviderJourney> {
    const { purpose, token, return_to: returnTo } = body;
    const journey = { purpose, memberId: null, linkHash: null, returnTo };
    if (token !== undefined) {
      const linkHash = await countFailedTries(this.attempts, browser.ip, () =>
        this.invitations.findInvitationHash(token),
      );
      return { ...journey, linkHash };
    }
    if (purpose === 'sign_in') return journey;
    const { member, session } = await this.requireMember(browser);
    // Require a confirmation for linking. An identity that a stranger adds in an unattended session would outlive the
    // session.
    if (purpose === 'link') await this.confirmed.check({ kind: 'member', member, session, cookie: '' });
    else {
      await this.checkMayConfirm(member, session);
      if (!(await this.identities.list(member.id)).some((own) => own.issuer === issuer)) {
        throw new Problem('conflict', { detail: 'You have no linked identity of this provider.' });
      }
    }
    return { ...journey, memberId: member.id };
  }

  /**
   * Completes a sign-in for its purpose, after the browser has returned from the provider.
   * @returns the new session. Null for `link` and `confirm`, which keep the current session.
   * @throws Problem `missing_credentials` or `session_ended` if the member of `link` or `confirm` is no longer signed
   * in
   */
  async end(arrival: ProviderArrival, browser: Browser): Promise<SignedInMember | null> {
    switch (arrival.purpose) {
      case 'sign_in':
        return this.signIn.signInMember(arrival, browser);
      case 'invitation':
        return this.invitations.acceptInvitation(arrival, browser);
      case 'link':
      case 'confirm': {
        const { member, session } = await this.requireMember(browser);
        // The member who started must still be signed in. Otherwise, someone could link or confirm for another member.
        if (member.id !== arrival.memberId) throw new Problem('session_ended');
        const { ip, requestId } = browser;
        if (arrival.purpose === 'link')
          await this.signIn.linkIdentity(arrival, session.id, { actor: member.id, ip, requestId });
        else {
          await this.checkMayConfirm(member, session);
          await this.signIn.confirmSession(arrival, session.id, browser);
        }
        return null;
      }
    }
  }

  /** Rejects with `conflict` if the member cannot confirm with an identity provider in this session. */
  private async checkMayConfirm({ id }: SessionMember, { method }: Session): Promise<void> {
    if ((await this.signInMethods.findConfirmationMethods(id, method)).includes('oidc')) return;
    throw new Problem('conflict', { detail: 'You cannot confirm with an identity provider in this session.' });
  }

  /**
   * Returns the session of the browser. Rejects with `missing_credentials` if the browser has no session of a member.
   */
  private async requireMember({ session }: Browser): Promise<LiveMemberSession> {
    const live = session === undefined ? undefined : await this.sessions.findSession(session);
    if (live !== undefined && live.member !== null) return live;
    throw new Problem('missing_credentials', { headers: ['WWW-Authenticate', CHALLENGE] });
  }
}

/** Returns the path of the page that shows a failure. The page gets the error code as the parameter `problem`. */
export function failurePage(purpose: ProviderPurpose, returnTo: string, code: string): string {
  const page = new URL(PURPOSES_OF_MEMBERS.has(purpose) ? returnTo : '/sign-in', ANY_ORIGIN);
  page.searchParams.set('problem', code);
  return `${page.pathname}${page.search}${page.hash}`;
}
