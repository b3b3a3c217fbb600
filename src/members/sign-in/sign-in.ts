/**
 * Signs members in with a password, and starts the sessions of all sign-in methods. An unknown member, a wrong password
 * and a disabled member get the same error after the same time, so that failures do not reveal members.
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

/** Browser holds data about the browser that signs in. */
export interface Browser extends SeenFrom {
  readonly requestId: string;
  /** Cookie of the browser's current session, which the sign-in replaces. */
  readonly session: string | undefined;
  /** Cookie that marks the browser as known to `KnownBrowsers`. */
  readonly known: string | undefined;
}

/** SignedInMember is the result of a complete sign-in. */
export interface SignedInMember extends BegunSession {
  readonly memberId: string;
  /** New value of the cookie that marks the browser as known. */
  readonly known: string;
}

/** PasswordResult is the result of a correct password: a session, or a pending second factor. */
export type PasswordResult =
  | ({ readonly state: 'signed_in' } & SignedInMember)
  | { readonly state: 'second_factor'; readonly memberId: string };

/** SessionOptions holds the options of `startSession`. */
interface SessionOptions {
  /** Transaction of the caller. Undefined: `startSession` starts a transaction. */
  readonly trx?: Transaction<Tables>;
  /** Session that the new session continues. Undefined if the member has signed in again. */
  readonly continuing?: Session | undefined;
  /**
   * Row of the member whose password was checked. `startSession` rejects if the password has changed since the check.
   */
  readonly checkedMember?: Pick<MemberRow, 'password_changed_at'>;
  /** Second factor of the sign-in. Undefined if the sign-in needed none. */
  readonly secondFactor?: SecondFactorKind;
}

/**
 * SecondFactorKind is the type of a second factor. The audit log names recovery codes separately, because they are for
 * emergencies.
 */
export type SecondFactorKind = 'totp' | 'recovery_code';

/**
 * Minimum time between two audit entries for refused sign-ins of one member, because an attacker may cause any number
 * of refusals.
 */
const REFUSAL_INTERVAL_MS = 60_000;
const MAX_REFUSED = 10_000;

/** SignIn checks passwords, starts sessions, and records refused sign-ins. */
export class SignIn {
  /** Time of the last audit entry for a refusal, by member ID, in milliseconds since the epoch. */
  private readonly refusals = new LRUCache<string, number>({ max: MAX_REFUSED });

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
   * Signs in with a password, or reports that a second factor is needed.
   * @throws Problem `invalid_credentials`, `too_many_failed_attempts`, `sign_in_busy`
   */
  async withPassword(email: string, password: string, browser: Browser): Promise<PasswordResult> {
    const row = await memberByEmail(this.database.db, email);
    if (!(await this.checkPassword(row, emailKeyOf(email), password, browser)) || row === undefined) {
      throw wrongCredentials();
    }
    if (row.totp_confirmed_at !== null) return { state: 'second_factor', memberId: row.id };
    const signedIn = await this.startSession(row.id, 'password', browser, { checkedMember: row });
    return { state: 'signed_in', ...signedIn };
  }

  /**
   * Reports whether the password of a signed-in member is right. A wrong password counts as a failed sign-in.
   * @throws Problem `too_many_failed_attempts`, `sign_in_busy`
   */
  async confirmPassword(member: { readonly email: string }, password: string, browser: Browser): Promise<boolean> {
    const row = await memberByEmail(this.database.db, member.email);
    return this.checkPassword(row, emailKeyOf(member.email), password, browser);
  }

  /**
   * Starts the session of a member who has provided every required factor.
   * @throws Problem `invalid_credentials` if the member was disabled, or changed their password since the check;
   * `session_ended` if the session to extend has ended
   */
  async startSession(
    memberId: string,
    method: SignInMethod,
    browser: Browser,
    { trx, continuing, checkedMember, secondFactor }: SessionOptions = {},
  ): Promise<SignedInMember> {
    const finishIn = async (transaction: Transaction<Tables>): Promise<BegunSession> => {
      const now = this.clock.now();
      let update = transaction.updateTable('member').set({ last_signed_in_at: now });
      update = update.where('id', '=', memberId).where('status', '=', 'active');
      if (checkedMember !== undefined) {
        update = update.where('password_changed_at', 'is not distinct from', checkedMember.password_changed_at);
      }
      const { numUpdatedRows } = await update.executeTakeFirst();
      // The member was disabled or changed their password after the check. That change ended all existing sessions, so
      // this sign-in must not start a new session.
      if (numUpdatedRows === 0n) throw wrongCredentials();
      const { session: replaced } = browser;
      const begun = await this.sessions.createSession({ memberId, continuing }, method, browser, replaced, transaction);
      const shown = { method, ...(secondFactor === undefined ? {} : { second_factor: secondFactor }) };
      const after = { ...shown, session: begun.session.id };
      const change = { action: 'sign_in.succeeded', before: null, after } as const;
      await recordChange(transaction, contextOf(memberId, browser), { ...targetOf(memberId), ...change }, now);
      return begun;
    };
    const begun = await (trx === undefined ? this.database.db.transaction().execute(finishIn) : finishIn(trx));
    METRICS.adminSignIns.series(method, 'succeeded').inc();
    return { ...begun, memberId, known: this.knownBrowsers.createCookieValue(memberId, this.clock.now()) };
  }

  /**
   * Records a failed sign-in in the log, the metrics and the member's audit log. Does not wait for the audit log,
   * because the response time would reveal whether the member exists.
   */
  recordFailedSignIn(
    memberId: string | null,
    method: SignInMethod,
    browser: Browser,
    secondFactor?: SecondFactorKind,
  ): void {
    const shown = { method, ...(secondFactor === undefined ? {} : { second_factor: secondFactor }) };
    METRICS.adminSignIns.series(method, 'refused').inc();
    this.log.info(
      { event: 'sign_in_refused', ...shown, member_id: memberId, ip: browser.ip, request_id: browser.requestId },
      'A sign-in failed',
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

  private async checkPassword(
    row: MemberRow | undefined,
    subject: string,
    password: string,
    browser: Browser,
  ): Promise<boolean> {
    const now = this.clock.now();
    const known = row === undefined ? null : this.knownBrowsers.readBrowserId(browser.known, row.id, now);
    const attempt = await this.attempts
      .beginPassword({ address: browser.ip, subject, browser: known })
      .catch((error: unknown) => this.rethrowThrottled(error, row, browser));
    const isActive = row?.status === 'active';
    try {
      const verdict = await this.passwords.check(isActive ? row.password : null, password);
      if (verdict.matches && row !== undefined) {
        if (verdict.outdated) await this.rehash(row, password);
        await attempt.recordSuccess();
        return true;
      }
    } catch (error) {
      // An overloaded server or a database error is not a failed guess.
      await attempt.uncount();
      throw error;
    }
    this.recordFailedSignIn(row?.id ?? null, 'password', browser);
    return false;
  }

  private rethrowThrottled(error: unknown, row: MemberRow | undefined, browser: Browser): never {
    if (error instanceof Problem) {
      METRICS.adminSignIns.series('password', 'throttled').inc();
      const fields = { member_id: row?.id ?? null, ip: browser.ip, request_id: browser.requestId };
      this.log.warn({ event: 'sign_in_throttled', ...fields }, 'Too many failed attempts to sign in');
    }
    throw error;
  }

  /**
   * Replaces a hash with an outdated cost. Does nothing if another sign-in or a new password has already replaced the
   * compared hash.
   */
  private async rehash(row: MemberRow, password: string): Promise<void> {
    const hash = await this.passwords.hash(password);
    const update = this.database.db.updateTable('member').set({ password: hash }).where('id', '=', row.id);
    await update.where('password', '=', row.password).execute();
  }
}

/**
 * Creates the error for an unknown member, a wrong password and a disabled member. The error is the same in all three
 * cases.
 */
export function wrongCredentials(): Problem {
  return new Problem('invalid_credentials', {
    detail: 'Incorrect email or password.',
    headers: ['WWW-Authenticate', 'Bearer realm="trailgate-admin"'],
  });
}

function contextOf(memberId: string, { ip, requestId }: Browser): ChangeContext {
  return { actor: memberId, ip, requestId };
}

function targetOf(memberId: string): { accountId: null; targetType: 'member'; targetId: string } {
  return { accountId: null, targetType: 'member', targetId: memberId };
}
