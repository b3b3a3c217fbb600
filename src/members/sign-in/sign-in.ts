/**
 * Signing in: a password is compared, a session is begun. Whatever is wrong is told in one text and takes one time, so
 * that nobody learns who is a member.
 */
import { LRUCache } from 'lru-cache';
import type { Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import { Problem } from '../../platform/problems/errors.js';
import { emailKeyOf } from '../member-fields.js';
import { memberByEmail, type MemberRow } from '../member-rows.js';
import type { BegunSession, SeenFrom, Session, Sessions, SignInMethod } from '../sessions.js';
import type { SignInAttempts } from './attempts.js';
import type { KnownBrowsers } from './known-browsers.js';
import type { Passwords } from './passwords.js';

/** What the browser brought along. */
export interface Browser extends SeenFrom {
  readonly requestId: string;
  /** The cookie of the session that it has, which ends with the sign-in. */
  readonly session: string | undefined;
  /** The cookie by which it is known from an earlier sign-in. */
  readonly known: string | undefined;
}

/** A sign-in that is whole. */
export interface SignedInMember extends BegunSession {
  readonly memberId: string;
  /** For the browser to be known by. */
  readonly known: string;
}

/** What a right password leads to: a session, or the question for a second factor. */
export type PasswordResult =
  | ({ readonly state: 'signed_in' } & SignedInMember)
  | { readonly state: 'second_factor'; readonly memberId: string };

/** What somebody has shown by the end of a sign-in. */
interface Shown {
  /** The transaction in which they have, where it is one. */
  readonly trx?: Transaction<Tables>;
  /** The session of their browser, where they have shown nothing but that. */
  readonly continuing?: Session | undefined;
  /** The member as they were when their password was compared. */
  readonly compared?: Pick<MemberRow, 'password_changed_at'>;
  /** What they have shown beside their password or link. */
  readonly secondFactor?: SecondFactorKind;
}

/** Which second factor somebody shows. A recovery code is to stand out: it is for the day on which the app is lost. */
export type SecondFactorKind = 'totp' | 'recovery_code';

/** Refused sign-ins of one member are written down at most so often: somebody else may be making them. */
const REFUSAL_INTERVAL_MS = 60_000;
const MOST_REFUSED = 10_000;

/** SignIn signs members in. */
export class SignIn {
  /** When a refusal of a member was last written down. */
  private readonly refusals = new LRUCache<string, number>({ max: MOST_REFUSED });

  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly log: Logger,
    private readonly sessions: Sessions,
    private readonly passwords: Passwords,
    private readonly attempts: SignInAttempts,
    private readonly knownBrowsers: KnownBrowsers,
  ) {}

  /**
   * Signs in with a password.
   * @throws Problem `invalid_credentials`, `too_many_failed_attempts`, `sign_in_busy`
   */
  async withPassword(email: string, password: string, browser: Browser): Promise<PasswordResult> {
    const row = await memberByEmail(this.database.db, email);
    if (!(await this.isPasswordOf(row, emailKeyOf(email), password, browser)) || row === undefined) {
      throw wrongCredentials();
    }
    if (row.totp_confirmed_at !== null) return { state: 'second_factor', memberId: row.id };
    const signedIn = await this.finish(row.id, 'password', browser, { compared: row });
    return { state: 'signed_in', ...signedIn };
  }

  /** Compares a password of a member who is signed in already; counted like a sign-in. */
  async confirmPassword(member: { readonly email: string }, password: string, browser: Browser): Promise<boolean> {
    const row = await memberByEmail(this.database.db, member.email);
    return this.isPasswordOf(row, emailKeyOf(member.email), password, browser);
  }

  /**
   * Begins the session of a member who has shown all that is asked of them.
   * @throws Problem `invalid_credentials` where they are disabled, or have chosen another password since.
   */
  async finish(
    memberId: string,
    method: SignInMethod,
    browser: Browser,
    { trx, continuing, compared, secondFactor }: Shown = {},
  ): Promise<SignedInMember> {
    const finishIn = async (transaction: Transaction<Tables>): Promise<BegunSession> => {
      const now = this.clock.now();
      let update = transaction.updateTable('member').set({ last_signed_in_at: now });
      update = update.where('id', '=', memberId).where('status', '=', 'active');
      if (compared !== undefined) {
        update = update.where('password_changed_at', 'is not distinct from', compared.password_changed_at);
      }
      const { numUpdatedRows } = await update.executeTakeFirst();
      // Disabled since the password was compared, or given another one, which has ended all sessions but not this.
      if (numUpdatedRows === 0n) throw wrongCredentials();
      const { session: replaced } = browser;
      const begun = await this.sessions.begin({ memberId, continuing }, method, browser, replaced, transaction);
      const shown = { method, ...(secondFactor === undefined ? {} : { second_factor: secondFactor }) };
      const after = { ...shown, session: begun.session.id };
      const change = { action: 'sign_in.succeeded', before: null, after } as const;
      await recordChange(transaction, contextOf(memberId, browser), { ...targetOf(memberId), ...change }, now);
      return begun;
    };
    const begun = await (trx === undefined ? this.database.db.transaction().execute(finishIn) : finishIn(trx));
    METRICS.adminSignIns.series(method, 'succeeded').inc();
    return { ...begun, memberId, known: this.knownBrowsers.remember(memberId, this.clock.now()) };
  }

  /**
   * Says that somebody could not sign in: in the log, in the metric and, of a member, in the audit log. Nobody waits
   * for that: it would take longer where there is a member.
   */
  noteRefused(memberId: string | null, method: SignInMethod, browser: Browser, secondFactor?: SecondFactorKind): void {
    const shown = { method, ...(secondFactor === undefined ? {} : { second_factor: secondFactor }) };
    METRICS.adminSignIns.series(method, 'refused').inc();
    this.log.info(
      { event: 'sign_in_refused', ...shown, member_id: memberId, ip: browser.ip, request_id: browser.requestId },
      'Somebody could not sign in',
    );
    if (memberId === null) return;
    const now = this.clock.now();
    if (now - (this.refusals.get(memberId) ?? -Infinity) < REFUSAL_INTERVAL_MS) return;
    this.refusals.set(memberId, now);
    const refused = { ...targetOf(memberId), action: 'sign_in.refused', before: null, after: shown } as const;
    const context = { ...contextOf(memberId, browser), actor: 'nobody' };
    const record = this.database.db.transaction().execute((trx) => recordChange(trx, context, refused, now));
    record.catch((error: unknown) => {
      this.log.warn({ event: 'sign_in_not_recorded', err: error }, 'A refused sign-in is not in the audit log');
    });
  }

  private async isPasswordOf(
    row: MemberRow | undefined,
    subject: string,
    password: string,
    browser: Browser,
  ): Promise<boolean> {
    const now = this.clock.now();
    const known = row === undefined ? null : this.knownBrowsers.find(browser.known, row.id, now);
    const attempt = await this.attempts
      .beginPassword({ address: browser.ip, subject, browser: known })
      .catch((error: unknown) => this.throttled(error, row, browser));
    const isActive = row?.status === 'active';
    try {
      const verdict = await this.passwords.check(isActive ? row.password : null, password);
      if (verdict.matches && row !== undefined) {
        if (verdict.outdated) await this.rehash(row, password);
        await attempt.succeeded();
        return true;
      }
    } catch (error) {
      // Too busy, or no database: nobody has guessed.
      await attempt.refunded();
      throw error;
    }
    this.noteRefused(row?.id ?? null, 'password', browser);
    return false;
  }

  private throttled(error: unknown, row: MemberRow | undefined, browser: Browser): never {
    if (error instanceof Problem) {
      METRICS.adminSignIns.series('password', 'throttled').inc();
      const fields = { member_id: row?.id ?? null, ip: browser.ip, request_id: browser.requestId };
      this.log.warn({ event: 'sign_in_throttled', ...fields }, 'Too many failed attempts to sign in');
    }
    throw error;
  }

  /** Another sign-in or a new password may have been faster: only what was compared is replaced. */
  private async rehash(row: MemberRow, password: string): Promise<void> {
    const made = await this.passwords.hash(password);
    const update = this.database.db.updateTable('member').set({ password: made }).where('id', '=', row.id);
    await update.where('password', '=', row.password).execute();
  }
}

/** One text for everything that is wrong with what somebody signs in with. */
export function wrongCredentials(): Problem {
  return new Problem('invalid_credentials', {
    detail: 'E-mail address and password do not belong together, or nobody here has this address.',
    headers: ['WWW-Authenticate', 'Bearer realm="trailgate-admin"'],
  });
}

function contextOf(memberId: string, { ip, requestId }: Browser): ChangeContext {
  return { actor: memberId, ip, requestId };
}

function targetOf(memberId: string): { accountId: null; targetType: 'member'; targetId: string } {
  return { accountId: null, targetType: 'member', targetId: memberId };
}
