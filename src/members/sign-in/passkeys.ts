/**
 * Registers, verifies and manages the passkeys of members. A passkey needs no second factor, because the browser
 * verifies the user.
 */
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { Transaction } from 'kysely';
import { recordChange, type AuditedChange, type ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import { newId } from '../../stores/database/ids.js';
import type { MemberPasskeyTable } from '../../stores/database/tables/member-tables.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { Problem } from '../../platform/problems/errors.js';
import { lockMemberWithLiveSession } from '../sessions.js';
import type { SignInMethods } from '../sign-in-methods.js';
import type { SignInNotices } from './sign-in-notices.js';
import type { CreatedStep, SignInSteps } from './sign-in-steps.js';
import {
  authenticationOptions,
  registrationOptions,
  verifiedAuthentication,
  verifiedRegistration,
  WebAuthnRefusal,
  type KeptPasskey,
  type PasskeyOwner,
  type RelyingParty,
  type UsedPasskey,
} from './webauthn.js';

/** Maximum number of passkeys per member. */
const MAX_PASSKEYS = 20;

/**
 * Passkey is a passkey as the panel shows it to its owner. Times are in milliseconds since the epoch. `lastUsedAt` is
 * null if the passkey was never used.
 */
export interface Passkey {
  readonly id: string;
  readonly name: string;
  /** Whether the passkey is synced between devices or can be restored. */
  readonly isBackedUp: boolean;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

/** BegunPasskey holds the options for the browser, and the sign-in step that the browser's response must match. */
export interface BegunPasskey<Options> {
  readonly options: Options;
  readonly step: CreatedStep;
}

/** PasskeyParts holds the dependencies of `Passkeys`. */
export interface PasskeyParts {
  readonly database: DatabaseHandle;
  readonly clock: Clock;
  readonly steps: SignInSteps;
  readonly party: () => RelyingParty;
  readonly log: Pick<Logger, 'warn'>;
  readonly signInMethods: SignInMethods;
  readonly notices: SignInNotices;
}

/** Passkeys registers, verifies, renames and removes passkeys. Methods also reject with the database's error. */
export class Passkeys {
  constructor(private readonly parts: PasskeyParts) {}

  /**
   * Starts the registration of a passkey.
   * @throws Problem `conflict` if the member already has 20 passkeys
   */
  async beginRegistration(owner: PasskeyOwner): Promise<BegunPasskey<PublicKeyCredentialCreationOptionsJSON>> {
    const kept = await this.rowsOf(owner.id);
    if (kept.length >= MAX_PASSKEYS) throw tooMany();
    const options = await registrationOptions(this.parts.party(), owner, kept.map(keptOf));
    const data = { challenge: options.challenge, purpose: 'register' } as const;
    return { options, step: await this.parts.steps.createStep('passkey', owner.id, data) };
  }

  /**
   * Completes the registration of a passkey. Consumes the step even on failure.
   * @throws Problem `sign_in_ended` if the step has expired, `session_ended` if the session ended in the meantime
   * @throws Problem `validation_failed` if the response is invalid or the passkey is already registered
   */
  async register(
    memberId: string,
    sessionId: string,
    stepToken: string | undefined,
    response: RegistrationResponseJSON,
    name: string,
    context: ChangeContext,
  ): Promise<Passkey> {
    const step = await this.parts.steps.consumeStep(stepToken, 'passkey');
    if (step.memberId !== memberId || step.data.purpose !== 'register') throw wrongStep();
    const verified = await this.convertRefusal(
      () => verifiedRegistration(this.parts.party(), step.data.challenge, response),
      () => registrationRefused('The browser created no valid passkey for this panel.'),
    );
    const now = this.parts.clock.now();
    const row: MemberPasskeyTable = {
      id: newId('psk', now),
      member_id: memberId,
      credential_id: verified.credentialId,
      public_key: verified.publicKey,
      counter: verified.counter,
      transports: JSON.stringify(verified.transports),
      device_type: verified.deviceType,
      backed_up: verified.isBackedUp ? 1 : 0,
      name,
      created_at: now,
      last_used_at: null,
    };
    const { db, kind } = this.parts.database;
    await db.transaction().execute(async (trx) => {
      await lockMemberWithLiveSession(trx, kind, memberId, sessionId);
      const { numInsertedOrUpdatedRows } = await trx
        .insertInto('member_passkey')
        .values(row)
        .onConflict((conflict) => conflict.column('credential_id').doNothing())
        .executeTakeFirst();
      if (numInsertedOrUpdatedRows !== 1n) throw registrationRefused('This passkey is already registered.');
      await this.record(
        trx,
        memberId,
        { action: 'member.passkey_added', before: null, after: { id: row.id, name } },
        context,
      );
      await this.parts.notices.add(trx, memberId, 'passkey_added', context, { name });
      await context.storeResponse?.(trx, passkeyOf(row));
    });
    return passkeyOf(row);
  }

  /** Starts a sign-in with any passkey that the browser has for this host. */
  async beginSignIn(): Promise<BegunPasskey<PublicKeyCredentialRequestOptionsJSON>> {
    return await this.begin(null, 'sign_in', []);
  }

  /**
   * Starts a confirmation of the signed-in member with one of their passkeys.
   * @throws Problem `conflict` if the member has no passkey
   */
  async beginConfirmation(memberId: string): Promise<BegunPasskey<PublicKeyCredentialRequestOptionsJSON>> {
    const rows = await this.rowsOf(memberId);
    if (rows.length === 0) throw new Problem('conflict', { detail: 'You have no passkey.' });
    return await this.begin(memberId, 'confirm', rows.map(keptOf));
  }

  /**
   * Completes a sign-in or a confirmation. Returns the IDs of the member and the passkey. Consumes the step even on
   * failure.
   * @throws Problem `sign_in_ended` if the step has expired or has another purpose
   * @throws Problem `invalid_credentials` if the response is invalid, or the passkey is unknown or of another member
   */
  async authenticate(
    stepToken: string | undefined,
    purpose: 'sign_in' | 'confirm',
    response: AuthenticationResponseJSON,
  ): Promise<{ readonly memberId: string; readonly passkeyId: string }> {
    const { memberId, data } = await this.parts.steps.consumeStep(stepToken, 'passkey');
    if (data.purpose !== purpose) throw wrongStep();
    const row = await this.parts.database.db
      .selectFrom('member_passkey')
      .selectAll()
      .where('credential_id', '=', response.id)
      .executeTakeFirst();
    if (row === undefined || (memberId !== null && row.member_id !== memberId)) throw passkeyUnknown();
    const { userHandle } = response.response;
    const claimedId = userHandle === undefined ? row.member_id : Buffer.from(userHandle, 'base64url').toString('utf8');
    if (claimedId !== row.member_id) throw passkeyUnknown();
    const verify = async (): Promise<void> =>
      this.recordUse(row, await verifiedAuthentication(this.parts.party(), data.challenge, response, keptOf(row)));
    await this.convertRefusal(verify, passkeyUnknown, row.id);
    return { memberId: row.member_id, passkeyId: row.id };
  }

  /** Lists a member's passkeys, oldest first. */
  async list(memberId: string): Promise<readonly Passkey[]> {
    return (await this.rowsOf(memberId)).map(passkeyOf);
  }

  /**
   * Renames a passkey.
   * @throws Problem `resource_not_found`
   */
  async rename(memberId: string, id: string, name: string, context: ChangeContext): Promise<Passkey> {
    return await this.parts.database.db.transaction().execute(async (trx) => {
      const row = await this.ownRow(trx, memberId, id);
      if (row.name === name) return passkeyOf(row);
      await trx.updateTable('member_passkey').set({ name }).where('id', '=', id).execute();
      const change = { action: 'member.passkey_renamed', before: { id, name: row.name }, after: { id, name } } as const;
      await this.record(trx, memberId, change, context);
      return passkeyOf({ ...row, name });
    });
  }

  /**
   * Removes a passkey.
   * @throws Problem `resource_not_found`, `last_way_to_sign_in`
   */
  async remove(memberId: string, id: string, context: ChangeContext): Promise<void> {
    await this.parts.database.db.transaction().execute(async (trx) => {
      const { name } = await this.ownRow(trx, memberId, id);
      const removal = trx.deleteFrom('member_passkey').where('id', '=', id);
      await this.parts.signInMethods.removeUnlessLast(trx, memberId, async () => void (await removal.execute()));
      await this.record(
        trx,
        memberId,
        { action: 'member.passkey_removed', before: { id, name }, after: null },
        context,
      );
      await this.parts.notices.add(trx, memberId, 'passkey_removed', context, { name });
    });
  }

  /**
   * Stores the signature counter of a use. Rejects with `WebAuthnRefusal` if the passkey was removed, or if another use
   * has already stored the same or a higher counter. Two uses with one counter indicate a cloned passkey.
   * Authenticators without a counter always send 0.
   */
  private async recordUse({ id, counter: before }: MemberPasskeyTable, used: UsedPasskey): Promise<void> {
    const { counter, isBackedUp } = used;
    const { numUpdatedRows } = await this.parts.database.db
      .updateTable('member_passkey')
      .set({ counter, backed_up: isBackedUp ? 1 : 0, last_used_at: this.parts.clock.now() })
      .where('id', '=', id)
      .where('counter', counter === 0 ? '=' : '<', counter === 0 ? before : counter)
      .executeTakeFirst();
    if (numUpdatedRows !== 1n) throw new WebAuthnRefusal('It was used elsewhere at the same moment, or removed');
  }

  private async begin(memberId: string | null, purpose: 'sign_in' | 'confirm', kept: readonly KeptPasskey[]) {
    const options = await authenticationOptions(this.parts.party(), kept);
    const step = await this.parts.steps.createStep('passkey', memberId, { challenge: options.challenge, purpose });
    return { options, step };
  }

  private async rowsOf(memberId: string): Promise<MemberPasskeyTable[]> {
    const { db } = this.parts.database;
    return await db.selectFrom('member_passkey').selectAll().where('member_id', '=', memberId).orderBy('id').execute();
  }

  private async ownRow(trx: Transaction<Tables>, memberId: string, id: string): Promise<MemberPasskeyTable> {
    const row = await trx
      .selectFrom('member_passkey')
      .selectAll()
      .where('id', '=', id)
      .where('member_id', '=', memberId)
      .executeTakeFirst();
    if (row === undefined) throw new Problem('resource_not_found', { detail: 'Not found. No passkey has this id.' });
    return row;
  }

  private async record(
    trx: Transaction<Tables>,
    memberId: string,
    change: Pick<AuditedChange, 'action' | 'before' | 'after'>,
    context: ChangeContext,
  ): Promise<void> {
    const target = { accountId: null, targetType: 'member', targetId: memberId } as const;
    await recordChange(trx, context, { ...target, ...change }, this.parts.clock.now());
  }

  /**
   * Runs a verification. If the response is invalid, logs the reason and throws the error of `refusal`, which does not
   * reveal the reason.
   */
  private async convertRefusal<Result>(verify: () => Promise<Result>, refusal: () => Problem, passkeyId?: string) {
    try {
      return await verify();
    } catch (error) {
      if (!(error instanceof WebAuthnRefusal)) throw error;
      this.parts.log.warn(
        { event: 'passkey_refused', passkey: passkeyId, reason: error.message },
        'A passkey was refused',
      );
      throw refusal();
    }
  }
}

function keptOf(row: MemberPasskeyTable): KeptPasskey {
  return {
    credentialId: row.credential_id,
    publicKey: row.public_key,
    counter: row.counter,
    transports: JSON.parse(row.transports) as string[],
  };
}

function passkeyOf(row: MemberPasskeyTable): Passkey {
  return {
    id: row.id,
    name: row.name,
    isBackedUp: row.backed_up === 1,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}

function tooMany(): Problem {
  return new Problem('conflict', { detail: `You have ${MAX_PASSKEYS} passkeys. Remove one that you no longer use.` });
}

function registrationRefused(detail: string): Problem {
  return new Problem('validation_failed', { detail, errors: [{ pointer: '#/response', detail: 'is not valid' }] });
}

function passkeyUnknown(): Problem {
  return new Problem('invalid_credentials', {
    detail: 'This passkey does not belong to a member of this installation.',
  });
}

function wrongStep(): Problem {
  return new Problem('sign_in_ended', { detail: 'The challenge belongs to another operation. Start over.' });
}
