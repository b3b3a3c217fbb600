/**
 * Describes a single-use link to the person who opens it, and performs the action of the link. Links that are used,
 * revoked, expired or unknown get `link_ended`.
 */
import type { Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { joinAccount } from '../account-members.js';
import { dataOf, findLink, linkEnded, consumeLink, type LinkRow } from '../links.js';
import { emailKeyOf, type Locale } from '../member-fields.js';
import type { MemberRow } from '../member-rows.js';
import { addMember } from '../new-members.js';
import type { LiveSession, PortalGrant, Session, Sessions } from '../sessions.js';
import { isMailed, markVerified, verifiedMemberByEmail } from '../verified-addresses.js';
import type { OfferedMethods } from '../sign-in-methods.js';
import { listFactors, resetSignIn, type Factor } from './link-reset.js';
import type { NewPasswords } from './new-passwords.js';
import type { SignInNotices } from './sign-in-notices.js';
import type { Browser, SignedInMember, SignIn } from './sign-in.js';

/**
 * LinkDescription describes a link before its use. `expiresAt` is in milliseconds since the epoch. `accountName`,
 * `email` and `role` are null if the link has none.
 */
export interface LinkDescription {
  readonly kind: LinkRow['kind'];
  readonly accountName: string | null;
  readonly email: string | null;
  readonly role: LinkRow['role'];
  readonly expiresAt: number;
  /**
   * Ways to use the link, of which one is enough. An empty list means that the link needs no input. `password` is a new
   * password, with a name if the link creates a member. `name` creates a member without a password. `provider` is a
   * sign-in at a provider that verifies the address. `sign_in` is a session of an existing member. An invitation that
   * was not mailed lists the same ways for every address, so that the list does not reveal members.
   */
  readonly ways: readonly ('password' | 'name' | 'provider' | 'sign_in')[];
  /**
   * Passkeys, identities and authenticator app of the member, for a reset link. The reset removes all of them except
   * the authenticator app. Empty for other links.
   */
  readonly factors: readonly Factor[];
}

/** LinkInput holds the input of a request that uses a link. */
export interface LinkInput {
  readonly token: string;
  readonly email?: string | undefined;
  readonly name?: string | undefined;
  readonly password?: string | undefined;
  readonly locale?: Locale | undefined;
}

/** LinkResult is the result of using a link: a member's session, a portal session, or a pending second factor. */
export type LinkResult =
  | ({ readonly state: 'signed_in' } & SignedInMember)
  | { readonly state: 'portal'; readonly token: string }
  | { readonly state: 'second_factor'; readonly memberId: string };

/** Maximum lifetime of a portal session: one hour. The company's own page can create another link at any time. */
const PORTAL_SESSION_MS = 60 * 60_000;

/** LinkUse describes links, and uses links for the people who open them. */
export class LinkUse {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly sessions: Sessions,
    private readonly newPasswords: NewPasswords,
    private readonly signIn: SignIn,
    private readonly offered: () => OfferedMethods,
    private readonly notices: SignInNotices,
  ) {}

  /**
   * Describes a link without using it.
   * @throws Problem `link_ended`
   */
  async describeLink(token: string): Promise<LinkDescription> {
    const { db } = this.database;
    const link = await findLink(db, token, this.clock.now());
    const accounts = db
      .selectFrom('account')
      .select('name')
      .where('id', '=', link.account_id ?? '');
    const account = link.account_id === null ? undefined : await accounts.executeTakeFirst();
    const member = await this.memberOfLink(link);
    return {
      kind: link.kind,
      accountName: account?.name ?? null,
      email: link.kind === 'invitation' ? emailOf(link) : (member?.email ?? null),
      role: link.role,
      expiresAt: link.expires_at,
      ways: waysToUseLink(link, member, this.offered()),
      factors: link.kind === 'password_reset' && member !== undefined ? await listFactors(db, member.id) : [],
    };
  }

  /**
   * Uses a link and performs its action.
   * @param live the browser's current session, if any
   * @throws Problem `link_ended`, `validation_failed`, `missing_credentials`, `sign_in_busy`
   * @throws Problem `already_a_member` for an invitation, `session_ended` if the current session has ended
   * @throws Problem `forbidden` for a password or a new member that the configuration does not allow
   */
  async useLink(given: LinkInput, browser: Browser, live: LiveSession | undefined): Promise<LinkResult> {
    const link = await findLink(this.database.db, given.token, this.clock.now());
    switch (link.kind) {
      case 'first_owner':
        return this.createFirstOwner(link, given, browser);
      case 'invitation':
        return this.acceptInvitation(link, given, browser, live);
      case 'password_reset':
        return this.resetMember(link, given, browser);
      case 'email_verification':
        return this.verifyAddress(link, browser, live);
      // Link that signs in the demo member, created by `FirstOwner.startLink`.
      case 'start':
        return this.signInDemoMember(link, browser);
      case 'portal':
        return this.startPortalSession(link, browser);
    }
  }

  private async createFirstOwner(link: LinkRow, given: LinkInput, browser: Browser): Promise<LinkResult> {
    const { email, name } = given;
    if (email === undefined || name === undefined) throw missing({ email, name });
    const password = await this.newPassword(given.password, { email, name, hasSecondFactor: false });
    return this.useLinkAndSignIn(link, browser, async (trx) => {
      const member = await this.newMember(trx, { email, name, password, isOperator: true }, given, browser);
      return member.id;
    });
  }

  /**
   * Accepts an invitation. The person with the link may also have created it, so the link never signs in an existing
   * member. Existing members join with their current session. A request with a name creates a new member with the
   * invited address. If the invitation was mailed and a member has verified the address, only that member can accept
   * the invitation.
   */
  private async acceptInvitation(
    link: LinkRow,
    given: LinkInput,
    browser: Browser,
    live: LiveSession | undefined,
  ): Promise<LinkResult> {
    const { account_id: accountId, role } = link;
    const email = emailOf(link);
    if (accountId === null || role === null || email === null) throw linkEnded();
    const requiredMember = await this.memberOfLink(link);
    if (requiredMember !== undefined && requiredMember.status !== 'active') throw linkEnded();
    if (requiredMember !== undefined || given.name === undefined) {
      const member = live?.member ?? null;
      if (requiredMember !== undefined && requiredMember.id !== member?.id) throw signInFirst(email);
      if (live === undefined || member === null) throw signInFirst();
      const join = async (trx: Transaction<Tables>): Promise<string> => {
        await joinAccount(trx, accountId, member.id, role, contextOf(member.id, browser), this.clock.now());
        return this.markAddressVerified(trx, link, member.id, email);
      };
      return this.useLinkAndSignIn(link, browser, join, live.session);
    }
    const { passwords, issuers } = this.offered();
    if (!passwords && issuers.length > 0) {
      throw new Problem('forbidden', { detail: 'Accept this invitation by signing in at an identity provider.' });
    }
    const { name } = given;
    const password = await this.newPassword(given.password, { email, name, hasSecondFactor: false });
    return this.useLinkAndSignIn(link, browser, async (trx) => {
      const created = await this.newMember(trx, { email, name, password, isOperator: false }, given, browser);
      await joinAccount(trx, accountId, created.id, role, contextOf(created.id, browser), this.clock.now());
      return this.markAddressVerified(trx, link, created.id, email);
    });
  }

  /** Marks the member's address as verified if the link was mailed to the address. Returns the member's ID. */
  private async markAddressVerified(
    trx: Transaction<Tables>,
    link: LinkRow,
    memberId: string,
    email: string,
  ): Promise<string> {
    if (isMailed(link)) await markVerified(trx, memberId, email, this.clock.now());
    return memberId;
  }

  private async resetMember(link: LinkRow, given: LinkInput, browser: Browser): Promise<LinkResult> {
    const member = await this.memberOfLink(link);
    if (member === undefined || member.status !== 'active') throw linkEnded();
    const hasSecondFactor = member.totp_confirmed_at !== null;
    const password = await this.newPassword(given.password, { ...member, hasSecondFactor });
    const change = async (trx: Transaction<Tables>): Promise<string> => {
      const context = contextOf(member.id, browser);
      await resetSignIn(trx, this.database.kind, member.id, password, context, this.clock.now(), this.notices);
      return this.markAddressVerified(trx, link, member.id, member.email);
    };
    if (!hasSecondFactor) return this.useLinkAndSignIn(link, browser, change);
    await this.database.db.transaction().execute(async (trx) => {
      await consumeLink(trx, link.hash, this.clock.now());
      await change(trx);
    });
    return { state: 'second_factor', memberId: member.id };
  }

  /**
   * Verifies the member's address. Requires a session of the member who requested the link. If a member entered a wrong
   * address, the owner of that mailbox could otherwise verify the address for them.
   */
  private async verifyAddress(link: LinkRow, browser: Browser, live: LiveSession | undefined): Promise<LinkResult> {
    const member = await this.memberOfLink(link);
    const email = emailOf(link);
    if (member === undefined || member.status !== 'active' || email === null) throw linkEnded();
    if (live === undefined || live.member?.id !== member.id) throw signInFirst(email);
    return this.useLinkAndSignIn(
      link,
      browser,
      (trx) => this.markAddressVerified(trx, link, member.id, email),
      live.session,
    );
  }

  private async signInDemoMember(link: LinkRow, browser: Browser): Promise<LinkResult> {
    const { member_id: memberId } = link;
    if (memberId === null) throw linkEnded();
    return this.useLinkAndSignIn(link, browser, () => Promise.resolve(memberId));
  }

  private async startPortalSession(link: LinkRow, browser: Browser): Promise<LinkResult> {
    const { account_id: accountId, role } = link;
    if (accountId === null || role === null) throw linkEnded();
    const { scopes, label, return_url: returnUrl } = dataOf(link) as Partial<PortalData>;
    const portal: PortalGrant = {
      accountId,
      role,
      scopes: scopes ?? null,
      label: label ?? '',
      returnUrl: returnUrl ?? '',
    };
    const begun = await this.database.db.transaction().execute(async (trx) => {
      await consumeLink(trx, link.hash, this.clock.now());
      const owner = { portal, absoluteMs: PORTAL_SESSION_MS, createdBy: link.created_by };
      const created = await this.sessions.createSession(owner, 'portal', browser, browser.session, trx);
      // Record the session ID. It connects the audit actor `portal:ses_…` with the portal link, and so with the link's
      // creator.
      const context = contextOf(`portal:${created.session.id}`, browser);
      const target = { accountId, targetType: 'portal_session', targetId: link.id } as const;
      const change = { action: 'portal_session.begun', before: null, after: { session: created.session.id } } as const;
      await recordChange(
        trx,
        { ...context, actorLabel: portal.label || undefined },
        { ...target, ...change },
        this.clock.now(),
      );
      return created;
    });
    return { state: 'portal', token: begun.token };
  }

  /**
   * Uses the link, performs `change`, and starts the session of the member that `change` returns, in one transaction.
   */
  private async useLinkAndSignIn(
    link: LinkRow,
    browser: Browser,
    change: (trx: Transaction<Tables>) => Promise<string>,
    continuing?: Session,
  ): Promise<LinkResult> {
    const signedIn = await this.database.db.transaction().execute(async (trx) => {
      await consumeLink(trx, link.hash, this.clock.now());
      const memberId = await change(trx);
      return this.signIn.startSession(memberId, 'link', browser, { trx, continuing });
    });
    return { state: 'signed_in', ...signedIn };
  }

  /**
   * Returns the only member who may use the link, or undefined if any person with the link may use it. For a mailed
   * invitation, this is the member who has verified the invited address. For links of a member, this is that member.
   */
  private async memberOfLink(link: LinkRow): Promise<MemberRow | undefined> {
    const { db } = this.database;
    if (link.email_key !== null) return isMailed(link) ? verifiedMemberByEmail(db, link.email_key) : undefined;
    if (link.member_id === null) return undefined;
    return db.selectFrom('member').selectAll().where('id', '=', link.member_id).executeTakeFirst();
  }

  /**
   * Validates and hashes a new password. Call it outside of transactions, because hashing is slow. Returns null if
   * passwords are turned off. Rejects with `validation_failed`, `forbidden` or `sign_in_busy`.
   */
  private async newPassword(
    password: string | undefined,
    member: { readonly email: string; readonly name: string; readonly hasSecondFactor: boolean },
  ): Promise<string | null> {
    if (!this.offered().passwords) {
      if (password !== undefined) throw new Problem('forbidden', { detail: 'Passwords are disabled.' });
      return null;
    }
    if (password === undefined) throw missing({ password });
    return this.newPasswords.hash(password, member);
  }

  private async newMember(
    trx: Transaction<Tables>,
    fields: { email: string; name: string; password: string | null; isOperator: boolean },
    { locale }: LinkInput,
    browser: Browser,
  ): Promise<MemberRow> {
    const member = { ...fields, locale: locale ?? null };
    // Another request may have created a member with this address in the meantime.
    const taken = (): Problem => signInFirst(fields.email);
    return addMember(trx, member, (id) => contextOf(id, browser), taken, this.clock.now());
  }
}

/**
 * PortalData is the data of a portal link. `scopes` limits the session to keys within these scopes; null means all
 * keys.
 */
export interface PortalData {
  readonly scopes: readonly string[] | null;
  readonly label: string;
  readonly return_url: string;
}

function waysToUseLink(link: LinkRow, member: MemberRow | undefined, offered: OfferedMethods): LinkDescription['ways'] {
  if (link.kind === 'start' || link.kind === 'portal') return [];
  if (link.kind === 'email_verification') return ['sign_in'];
  const password = offered.passwords ? (['password'] as const) : [];
  if (link.kind !== 'invitation') return password;
  if (member !== undefined) return ['sign_in'];
  const provider = offered.issuers.length > 0 ? (['provider'] as const) : [];
  const asNew = [...password, ...provider];
  return [...(asNew.length > 0 ? asNew : (['name'] as const)), 'sign_in'];
}

/** Returns the address in the link's data, as a person entered the address. Returns null if the link has no address. */
function emailOf(link: LinkRow): string | null {
  const { email } = dataOf(link);
  return typeof email === 'string' ? email : link.email_key;
}

/**
 * Creates the error for a link that needs a session.
 * @param email address of the member who must sign in; undefined: any member
 */
function signInFirst(email?: string): Problem {
  const detail =
    email === undefined
      ? 'Sign in first, then use the link again. Or send a name to join as a new member.'
      : `A member has this address. Sign in as ${emailKeyOf(email)} first, then use the link again. If you cannot, ask ` +
        'an operator for a password reset link.';
  return new Problem('missing_credentials', {
    detail,
    headers: ['WWW-Authenticate', 'Bearer realm="trailgate-admin"'],
  });
}

function missing(fields: Readonly<Record<string, unknown>>): Problem {
  const errors = Object.entries(fields)
    .filter(([, value]) => value === undefined)
    .map(([field]) => ({ pointer: `#/${field}`, detail: 'must be given' }));
  return new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
}

function contextOf(memberId: string, { ip, requestId }: Browser): ChangeContext {
  return { actor: memberId, ip, requestId };
}
