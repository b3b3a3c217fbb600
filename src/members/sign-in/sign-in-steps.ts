/**
 * Stores unfinished sign-ins: a pending second factor, a passkey challenge, or a redirect to an identity provider. A
 * step is not a session. A step has its own cookie, expires within minutes and can be completed once.
 */
import type { Kysely } from 'kysely';
import type { SignInStepTable } from '../../stores/database/tables/member-tables.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { createToken, hashToken, isToken } from '../session-token.js';

const STEP_MS = 5 * 60_000;
const PROVIDER_STEP_MS = 10 * 60_000;
/** Lifetime of each kind of step, in milliseconds. */
const LIFETIMES_MS: Readonly<Record<StepKind, number>> = {
  second_factor: STEP_MS,
  passkey: STEP_MS,
  oidc: PROVIDER_STEP_MS,
};
/** Maximum number of second-factor codes per step. */
const MAX_ATTEMPTS = 5;
/** Number of expired steps that each new step deletes. Anyone can start steps, so expired steps must not accumulate. */
const REMOVED_AT_ONCE = 20;

/** StepKind is the kind of a sign-in step. */
export type StepKind = SignInStepTable['kind'];

/** StepData holds the data of each kind of step. The completion of the step is verified with this data. */
export interface StepData {
  /** The first factor, which was already verified. */
  readonly second_factor: { readonly method: 'password' | 'link' };
  readonly passkey: { readonly challenge: string; readonly purpose: 'sign_in' | 'register' | 'confirm' };
  readonly oidc: {
    readonly provider: string;
    readonly state: string;
    readonly nonce: string;
    readonly codeVerifier: string;
    readonly purpose: 'sign_in' | 'link' | 'confirm' | 'invitation';
    /** Hash of the invitation link to accept. Null for other purposes. */
    readonly linkHash: string | null;
    readonly returnTo: string;
    /**
     * Start time in milliseconds since the epoch. A confirmation needs a sign-in at the provider after the start time.
     */
    readonly startedAt: number;
  };
}

/**
 * SignInStep is a pending step. `memberId` is null if the member is not known yet. `expiresAt` is in milliseconds since
 * the epoch.
 */
export interface SignInStep<Kind extends StepKind> {
  readonly memberId: string | null;
  readonly data: StepData[Kind];
  readonly expiresAt: number;
}

/** CreatedStep is a new step with its token in plain text. The database stores only the hash of the token. */
export interface CreatedStep {
  readonly token: string;
  readonly expiresAt: number;
}

/** SignInSteps stores steps under the hash of their token. Methods also reject with the database's error. */
export class SignInSteps {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {}

  /** Starts a step, and deletes some expired steps of any member. */
  async createStep<Kind extends StepKind>(
    kind: Kind,
    memberId: string | null,
    data: StepData[Kind],
  ): Promise<CreatedStep> {
    await this.deleteEnded(REMOVED_AT_ONCE);
    const token = createToken();
    const expiresAt = this.clock.now() + LIFETIMES_MS[kind];
    const step = { kind, member_id: memberId, data: JSON.stringify(data), attempts: 0, expires_at: expiresAt };
    await this.db
      .insertInto('sign_in_step')
      .values({ hash: hashToken(token), ...step })
      .execute();
    return { token, expiresAt };
  }

  /**
   * Finds a step and counts an attempt. Call it before checking the code, so that concurrent attempts cannot exceed the
   * limit.
   * @throws Problem `sign_in_ended` if the step is unknown, expired or out of attempts
   */
  async countAttempt<Kind extends StepKind>(token: string | undefined, kind: Kind): Promise<SignInStep<Kind>> {
    if (!isToken(token)) throw ended();
    const row = await this.db
      .updateTable('sign_in_step')
      .set(({ eb }) => ({ attempts: eb('attempts', '+', 1) }))
      .where('hash', '=', hashToken(token))
      .where('kind', '=', kind)
      .where('expires_at', '>', this.clock.now())
      .where('attempts', '<', MAX_ATTEMPTS)
      .returningAll()
      .executeTakeFirst();
    return stepOf(row);
  }

  /**
   * Consumes a step. Only one of several concurrent calls returns the step.
   * @throws Problem `sign_in_ended` if the step is unknown or expired
   */
  async consumeStep<Kind extends StepKind>(token: string | undefined, kind: Kind): Promise<SignInStep<Kind>> {
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

  /** Deletes at most `most` expired steps. Returns the number of deleted steps. */
  async deleteEnded(most: number): Promise<number> {
    const expired = this.db
      .selectFrom('sign_in_step')
      .select('hash')
      .where('expires_at', '<=', this.clock.now())
      .limit(most);
    const { numDeletedRows } = await this.db.deleteFrom('sign_in_step').where('hash', 'in', expired).executeTakeFirst();
    return Number(numDeletedRows);
  }
}

function stepOf<Kind extends StepKind>(row: SignInStepTable | undefined): SignInStep<Kind> {
  if (row === undefined) throw ended();
  return { memberId: row.member_id, data: JSON.parse(row.data) as StepData[Kind], expiresAt: row.expires_at };
}

function ended(): Problem {
  return new Problem('sign_in_ended', { detail: 'The sign-in expired or had too many failed attempts. Start over.' });
}
