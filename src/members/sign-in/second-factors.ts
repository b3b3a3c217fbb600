/**
 * Manages the second factors of members: an authenticator app (TOTP) and its recovery codes. Apps need
 * `TRAILGATE_SECRETS_KEY`, because the database stores their secrets encrypted.
 */
import { randomBytes } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { MemberTable } from '../../stores/database/tables/member-tables.js';
import type { Tables } from '../../stores/database/schema.js';
import type { SignInChangeKind } from '../../mail/notice-texts.js';
import type { Clock } from '../../platform/clock.js';
import type { SecretBox } from '../../stores/secrets/secret-box.js';
import { Problem } from '../../platform/problems/errors.js';
import { recoveryCodesLeft, removeRecoveryCodes, replaceRecoveryCodes, consumeRecoveryCode } from './recovery-codes.js';
import type { SignInNotices } from './sign-in-notices.js';
import { base32, matchingStep, otpauthUri, TOTP_SECRET_BYTES } from './totp.js';

/** TotpSetup is the setup data of an authenticator app. The panel shows the data only once. */
export interface TotpSetup {
  /** Secret in base 32, for manual entry. */
  readonly secret: string;
  /** URI (`otpauth://…`) for the QR code. */
  readonly uri: string;
}

/** ShownFactor is the second factor in a request: a code of the app, or a recovery code. */
export type ShownFactor = { readonly code: string } | { readonly recoveryCode: string };

type TotpRow = Pick<MemberTable, 'id' | 'email' | 'totp_secret' | 'totp_confirmed_at' | 'totp_last_step'>;

/** SecondFactors sets up, verifies and removes second factors. */
export class SecondFactors {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    /** Encrypts the secrets of apps. Null if the installation has no key. Members then cannot set up apps. */
    private readonly box: SecretBox | null,
    /** Returns the name of the installation, which apps show next to the code. */
    private readonly issuer: () => string,
    private readonly notices: SignInNotices,
  ) {}

  /** Whether members can set up an app. */
  get isOffered(): boolean {
    return this.box !== null;
  }

  /** Reports whether the member must provide a second factor. Rejects with `resource_not_found`. */
  async isNeeded(memberId: string): Promise<boolean> {
    return (await this.rowOf(this.database.db, memberId)).totp_confirmed_at !== null;
  }

  /**
   * Starts the setup of an app. The app has no effect until `completeSetup`. A second call replaces an unconfirmed
   * setup.
   * @throws Problem `conflict` if the member has an app, or the installation has no key
   */
  async beginSetup(memberId: string): Promise<TotpSetup> {
    const { box } = this;
    if (box === null) throw notOffered();
    const secret = randomBytes(TOTP_SECRET_BYTES);
    const { email } = await this.rowOf(this.database.db, memberId);
    const { numUpdatedRows } = await this.database.db
      .updateTable('member')
      .set({ totp_secret: box.seal(secret, encryptionContext(memberId)), totp_last_step: 0 })
      .where('id', '=', memberId)
      .where('totp_confirmed_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw alreadySetUp();
    return { secret: base32(secret), uri: otpauthUri(secret, this.issuer(), email) };
  }

  /**
   * Completes the setup with a code of the app. From now on, a sign-in with a password or a reset link needs a second
   * factor.
   * @returns new recovery codes, which are shown only once
   * @throws Problem `conflict` if no setup is in progress or the member already has an app; `validation_failed` for a
   * wrong code
   */
  async completeSetup(memberId: string, code: string, context: ChangeContext): Promise<readonly string[]> {
    return await this.database.db.transaction().execute(async (trx) => {
      const row = await this.rowOf(trx, memberId, true);
      if (row.totp_confirmed_at !== null) throw alreadySetUp();
      const step = row.totp_secret === null ? undefined : this.timeStepOf(row, row.totp_secret, code);
      if (step === undefined)
        throw new Problem('conflict', { detail: 'No setup of an authenticator app is in progress.' });
      if (step === null) throw wrongCode();
      const now = this.clock.now();
      await trx
        .updateTable('member')
        .set(({ eb }) => ({ totp_confirmed_at: now, totp_last_step: step, ...touched(eb('version', '+', 1), now) }))
        .where('id', '=', memberId)
        .execute();
      await this.record(trx, memberId, 'totp_added', context);
      return await replaceRecoveryCodes(trx, memberId);
    });
  }

  /** Removes the app, also an unconfirmed one, and the recovery codes. Does nothing if the member has no app. */
  async removeApp(memberId: string, context: ChangeContext): Promise<void> {
    await this.database.db.transaction().execute(async (trx) => {
      const row = await this.rowOf(trx, memberId, true);
      if (row.totp_secret === null && row.totp_confirmed_at === null) return;
      const now = this.clock.now();
      await trx
        .updateTable('member')
        .set(({ eb }) => ({
          totp_secret: null,
          totp_confirmed_at: null,
          totp_last_step: 0,
          ...touched(eb('version', '+', 1), now),
        }))
        .where('id', '=', memberId)
        .execute();
      await removeRecoveryCodes(trx, memberId);
      if (row.totp_confirmed_at !== null) await this.record(trx, memberId, 'totp_removed', context);
    });
  }

  /**
   * Replaces the recovery codes of a member.
   * @returns the new codes, which are shown only once
   * @throws Problem `conflict` if the member has no app
   */
  async replaceCodes(memberId: string, context: ChangeContext): Promise<readonly string[]> {
    return await this.database.db.transaction().execute(async (trx) => {
      const row = await this.rowOf(trx, memberId, true);
      if (row.totp_confirmed_at === null)
        throw new Problem('conflict', { detail: 'Set up an authenticator app first.' });
      await this.record(trx, memberId, 'recovery_codes_replaced', context);
      return await replaceRecoveryCodes(trx, memberId);
    });
  }

  /** Returns the number of unused recovery codes. */
  async codesLeft(memberId: string): Promise<number> {
    return await recoveryCodesLeft(this.database.db, memberId);
  }

  /**
   * Verifies a code and marks the code as used. Returns false if the code is wrong or was already used, or if the
   * member has no app. Each code works once, across all nodes.
   */
  async verifyFactor(memberId: string, shown: ShownFactor): Promise<boolean> {
    const { db } = this.database;
    const row = await this.rowOf(db, memberId);
    if (row.totp_confirmed_at === null || row.totp_secret === null) return false;
    if ('recoveryCode' in shown) return await consumeRecoveryCode(db, memberId, shown.recoveryCode, this.clock.now());
    const step = this.timeStepOf(row, row.totp_secret, shown.code);
    if (step === null) return false;
    const { numUpdatedRows } = await db
      .updateTable('member')
      .set({ totp_last_step: step })
      .where('id', '=', memberId)
      .where('totp_last_step', '<', step)
      .where('totp_secret', '=', row.totp_secret)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /**
   * Returns the time step of an app's code. Returns null if the code is wrong, or not newer than the last accepted
   * code.
   */
  private timeStepOf(row: TotpRow, sealed: string, code: string): number | null {
    if (this.box === null) throw notOffered();
    const secret = this.box.open(sealed, encryptionContext(row.id));
    return matchingStep(secret, code, this.clock.now(), row.totp_last_step);
  }

  private async rowOf(db: Kysely<Tables>, memberId: string, isLocked = false): Promise<TotpRow> {
    const row = await db
      .selectFrom('member')
      .select(['id', 'email', 'totp_secret', 'totp_confirmed_at', 'totp_last_step'])
      .where('id', '=', memberId)
      .$if(isLocked && this.database.kind === 'postgres', (select) => select.forUpdate())
      .executeTakeFirst();
    if (row === undefined) throw new Problem('resource_not_found', { detail: 'Not found. No member has this id.' });
    return row;
  }

  private async record(
    trx: Transaction<Tables>,
    memberId: string,
    change: Extract<SignInChangeKind, 'totp_added' | 'totp_removed' | 'recovery_codes_replaced'>,
    context: ChangeContext,
  ): Promise<void> {
    const target = { accountId: null, targetType: 'member', targetId: memberId } as const;
    const entry = { ...target, action: `member.${change}`, before: null, after: null } as const;
    await recordChange(trx, context, entry, this.clock.now());
    await this.notices.add(trx, memberId, change, context);
  }
}

/** Returns the columns that every change of a member sets. */
function touched<Version>(version: Version, nowMs: number): { version: Version; updated_at: number } {
  return { version, updated_at: nowMs };
}

/** Returns the encryption context, which binds an encrypted secret to its member. */
function encryptionContext(memberId: string): string {
  return `member:${memberId}`;
}

function alreadySetUp(): Problem {
  return new Problem('conflict', { detail: 'An authenticator app is already set up. Remove it first.' });
}

function notOffered(): Problem {
  return new Problem('conflict', {
    detail: 'Authenticator apps are unavailable, because this installation has no TRAILGATE_SECRETS_KEY.',
  });
}

function wrongCode(): Problem {
  const errors = [{ pointer: '#/code', detail: 'is not the code that the app shows now' }];
  return new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
}
