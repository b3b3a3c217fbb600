/**
 * Sign-ins that have begun and are not done: a first factor without its second, a challenge for a passkey, a way to an
 * identity provider and back. A step is no session: it has a cookie of its own, ends soon, and works once.
 */
import type { Kysely } from 'kysely';
import type { SignInStepTable } from '../../stores/database/tables/member-tables.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { createToken, hashToken, isToken } from '../session-token.js';

const STEP_MS = 5 * 60_000;
const AT_PROVIDER_MS = 10 * 60_000;
/** How long each kind of step waits for its end: as long as a person takes. */
const LASTS_MS: Readonly<Record<StepKind, number>> = {
  second_factor: STEP_MS,
  passkey: STEP_MS,
  oidc: AT_PROVIDER_MS,
};
const MOST_ATTEMPTS = 5;
/** Steps that have ended and are removed with each that begins: strangers begin them, so they must not pile up. */
const REMOVED_AT_ONCE = 20;

/** What a sign-in waits for. */
export type StepKind = SignInStepTable['kind'];

/** What the end of a step is checked against, by its kind. */
export interface StepData {
  /** How the first factor was shown. */
  readonly second_factor: { readonly method: 'password' | 'link' };
  readonly passkey: { readonly challenge: string; readonly purpose: 'sign_in' | 'register' | 'confirm' };
  readonly oidc: {
    readonly provider: string;
    readonly state: string;
    readonly nonce: string;
    readonly codeVerifier: string;
    readonly purpose: 'sign_in' | 'link' | 'confirm' | 'invitation';
    /** Of the invitation that is taken by it, as a hash; null for any other purpose. */
    readonly linkHash: string | null;
    readonly returnTo: string;
    /** When the browser was sent there, ms: who confirms has to sign in there after it. */
    readonly startedAt: number;
  };
}

/** A step that is under way. */
export interface SignInStep<Kind extends StepKind> {
  readonly memberId: string | null;
  readonly data: StepData[Kind];
  readonly expiresAt: number;
}

/** A step with its secret, at the only moment at which that exists in the clear. */
export interface BegunStep {
  readonly token: string;
  readonly expiresAt: number;
}

/** SignInSteps keeps steps, by the hash of the cookie that names them. */
export class SignInSteps {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {}

  /** Begins a step. */
  async begin<Kind extends StepKind>(kind: Kind, memberId: string | null, data: StepData[Kind]): Promise<BegunStep> {
    await this.deleteEnded(REMOVED_AT_ONCE);
    const token = createToken();
    const expiresAt = this.clock.now() + LASTS_MS[kind];
    const step = { kind, member_id: memberId, data: JSON.stringify(data), attempts: 0, expires_at: expiresAt };
    await this.db
      .insertInto('sign_in_step')
      .values({ hash: hashToken(token), ...step })
      .execute();
    return { token, expiresAt };
  }

  /**
   * Finds a step for one more attempt, and counts the attempt before it is made: many at once have no more of them.
   * @throws Problem `sign_in_ended` where there is no such step, it is over, or has had its attempts.
   */
  async attempt<Kind extends StepKind>(token: string | undefined, kind: Kind): Promise<SignInStep<Kind>> {
    if (!isToken(token)) throw ended();
    const row = await this.db
      .updateTable('sign_in_step')
      .set(({ eb }) => ({ attempts: eb('attempts', '+', 1) }))
      .where('hash', '=', hashToken(token))
      .where('kind', '=', kind)
      .where('expires_at', '>', this.clock.now())
      .where('attempts', '<', MOST_ATTEMPTS)
      .returningAll()
      .executeTakeFirst();
    return stepOf(row);
  }

  /**
   * Takes a step: whoever has taken it is the only one.
   * @throws Problem `sign_in_ended` where there is no such step, or it is over.
   */
  async take<Kind extends StepKind>(token: string | undefined, kind: Kind): Promise<SignInStep<Kind>> {
    if (!isToken(token)) throw ended();
    const row = await this.db
      .deleteFrom('sign_in_step')
      .where('hash', '=', hashToken(token))
      .where('kind', '=', kind)
      .returningAll()
      .executeTakeFirst();
    if (row !== undefined && row.expires_at <= this.clock.now()) throw ended();
    return stepOf(row);
  }

  /** Removes steps that are over; resolves with how many there were. */
  async deleteEnded(most: number): Promise<number> {
    const over = this.db
      .selectFrom('sign_in_step')
      .select('hash')
      .where('expires_at', '<=', this.clock.now())
      .limit(most);
    const { numDeletedRows } = await this.db.deleteFrom('sign_in_step').where('hash', 'in', over).executeTakeFirst();
    return Number(numDeletedRows);
  }
}

function stepOf<Kind extends StepKind>(row: SignInStepTable | undefined): SignInStep<Kind> {
  if (row === undefined) throw ended();
  return { memberId: row.member_id, data: JSON.parse(row.data) as StepData[Kind], expiresAt: row.expires_at };
}

function ended(): Problem {
  return new Problem('sign_in_ended', { detail: 'This sign-in took too long or too many attempts. Begin again.' });
}
