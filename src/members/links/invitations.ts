/**
 * Creates, resends and revokes invitations to an account, each for one email address and one role. Resending an
 * invitation revokes the previous link.
 */
import type { Transaction } from 'kysely';
import { lockAccount } from '../../accounts/accounts.js';
import type { AuditAction } from '../../records/audit-actions.js';
import { recordChange, type ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../../stores/database/cursor.js';
import type { Tables } from '../../stores/database/schema.js';
import { addLinkMail, mailStatesOf, type MailState } from '../../mail/mail-outbox.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import type { CreateInvitation } from './invitation-fields.js';
import { checkInvitationLimits } from './invitation-limits.js';
import { checkCreator } from '../credentials.js';
import { createLink, dataOf, type LinkRow } from '../links.js';
import { emailKeyOf, LOCALES, type Locale } from '../member-fields.js';
import type { CallerAccess, Role } from '../permissions.js';
import { checkCanGrantRoles } from '../role-rules.js';
import { MAILED, verifiedMemberByEmail } from '../verified-addresses.js';

/** Invitation is an invitation without its link. Times are in milliseconds since the epoch. */
export interface Invitation {
  readonly id: string;
  readonly accountId: string;
  readonly email: string;
  readonly role: Role;
  readonly status: 'open' | 'accepted' | 'revoked' | 'expired';
  /** Delivery status of the mail. `none` if no mail was sent, because the inviting caller received the link. */
  readonly mail: MailState | 'none';
  readonly createdBy: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** MadeInvitation is a new invitation and the token of its link. The token is null if the link is sent by mail. */
export interface MadeInvitation {
  readonly invitation: Invitation;
  readonly token: string | null;
}

/** NewInvitation holds the fields of a new invitation. `lastsMs` is its lifetime in milliseconds. */
interface NewInvitation {
  readonly accountId: string;
  readonly email: string;
  readonly role: Role;
  readonly locale: Locale | undefined;
  readonly lastsMs: number;
}

const DAY_MS = 86_400_000;

/**
 * Invitations creates, lists, resends and revokes invitations. Methods reject with a `Problem` for errors of the
 * caller, and with the database's error otherwise.
 */
export class Invitations {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly hasMail: () => boolean,
  ) {}

  /**
   * Invites an address. Revokes open invitations for the same address in this account.
   * @throws Problem `already_a_member`, `forbidden`, `too_many_requests`; `resource_not_found` for the account
   */
  async create(
    accountId: string,
    { email, role, locale, expires_in_days: days }: CreateInvitation,
    callerAccess: CallerAccess,
    context: ChangeContext,
  ): Promise<MadeInvitation> {
    checkCanGrantRoles(callerAccess, role);
    const now = this.clock.now();
    return this.database.db.transaction().execute(async (trx) => {
      await checkCreator(trx, this.database.kind, context, { type: 'invitation', role }, accountId);
      await lockAccount(trx, this.database.kind, accountId);
      await rejectExistingMember(trx, accountId, email);
      await checkInvitationLimits(trx, callerAccess, accountId, emailKeyOf(email), now);
      const open = trx.updateTable('link').set({ revoked_at: now }).where('kind', '=', 'invitation');
      await open
        .where('account_id', '=', accountId)
        .where('email_key', '=', emailKeyOf(email))
        .where('used_at', 'is', null)
        .where('revoked_at', 'is', null)
        .execute();
      return this.add(trx, { accountId, email, role, locale, lastsMs: days * DAY_MS }, 'invitation.created', context);
    });
  }

  /** Returns a page of an account's invitations, newest first, including accepted, revoked and expired ones. */
  async list(accountId: string, { limit, cursor }: PageRequest): Promise<Page<Invitation>> {
    const list = `invitations:${accountId}`;
    const now = this.clock.now();
    const ofAccount = this.database.db.selectFrom('link').selectAll().where('account_id', '=', accountId);
    let query = ofAccount.where('kind', '=', 'invitation');
    if (cursor !== undefined) query = query.where('id', '<', decodeCursor(list, cursor));
    const rows = await query
      .orderBy('id', 'desc')
      .limit(limit + 1)
      .execute();
    const mails = await mailStatesOf(
      this.database.db,
      rows.map(({ id }) => id),
    );
    return pageOf(list, limit, rows, (row) => invitationOf(row, now, mails.get(row.id)));
  }

  /**
   * Creates a new invitation with the same address, role and lifetime, and revokes the old invitation.
   * @throws Problem `resource_not_found`, `forbidden`, `already_a_member`, `too_many_requests`; `conflict` if the
   * invitation was accepted or revoked
   */
  async resend(id: string, callerAccess: CallerAccess, context: ChangeContext): Promise<MadeInvitation> {
    const now = this.clock.now();
    return this.database.db.transaction().execute(async (trx) => {
      const link = trx.selectFrom('link').select(['account_id', 'role']).where('id', '=', id);
      const { account_id: linkAccountId, role: linkRole } = (await link.executeTakeFirst()) ?? {
        account_id: null,
        role: null,
      };
      if (linkRole !== null) checkCanGrantRoles(callerAccess, linkRole);
      await checkCreator(trx, this.database.kind, context, { type: 'invitation', role: linkRole }, linkAccountId);
      const row = await this.lock(trx, id);
      const { accountId, email, role, status } = invitationOf(row, now);
      if (status === 'accepted' || status === 'revoked') {
        throw new Problem('conflict', { detail: `The invitation is ${status}. Create a new one.` });
      }
      await rejectExistingMember(trx, accountId, email);
      await checkInvitationLimits(trx, callerAccess, accountId, emailKeyOf(email), now);
      await trx.updateTable('link').set({ revoked_at: now }).where('id', '=', id).execute();
      const lastsMs = row.expires_at - row.created_at;
      return this.add(trx, { accountId, email, role, locale: localeOf(row), lastsMs }, 'invitation.resent', context);
    });
  }

  /**
   * Revokes an invitation. Revoking a revoked invitation changes nothing.
   * @throws Problem `resource_not_found`, `forbidden`, `conflict` if the invitation was accepted
   */
  async revoke(id: string, callerAccess: CallerAccess, context: ChangeContext): Promise<Invitation> {
    const now = this.clock.now();
    return this.database.db.transaction().execute(async (trx) => {
      const row = await this.lock(trx, id);
      const mail = (await mailStatesOf(trx, [id])).get(id);
      const invitation = invitationOf(row, now, mail);
      checkCanGrantRoles(callerAccess, invitation.role);
      if (invitation.status === 'accepted') {
        throw new Problem('conflict', { detail: 'The invitation was accepted. Remove the member instead.' });
      }
      if (row.revoked_at !== null) return invitation;
      await trx.updateTable('link').set({ revoked_at: now }).where('id', '=', id).execute();
      const change = { before: { status: invitation.status }, after: { status: 'revoked' } };
      const target = { accountId: invitation.accountId, targetType: 'invitation', targetId: id } as const;
      await recordChange(trx, context, { ...target, action: 'invitation.revoked', ...change }, now);
      return invitationOf({ ...row, revoked_at: now }, now, mail);
    });
  }

  private async add(
    trx: Transaction<Tables>,
    { accountId, email, role, locale, lastsMs }: NewInvitation,
    action: AuditAction,
    context: ChangeContext,
  ): Promise<MadeInvitation> {
    const now = this.clock.now();
    const link = {
      accountId,
      emailKey: emailKeyOf(email),
      role,
      data: { email, ...(locale === undefined ? {} : { locale }), ...(this.hasMail() ? MAILED : {}) },
      lastsMs,
    };
    const { token, row } = await createLink(trx, { kind: 'invitation', createdBy: context.actor, ...link }, now);
    const after = { email, role, expires_at: new Date(row.expires_at).toISOString() };
    const target = { accountId, targetType: 'invitation', targetId: row.id } as const;
    await recordChange(trx, context, { ...target, action, before: null, after }, now);
    const invitation = invitationOf(row, now);
    if (!this.hasMail()) return { invitation, token };
    const { accountName, inviter } = await this.namesOf(trx, accountId, context.actor);
    const content = { kind: 'invitation', role, accountName, invitedBy: inviter?.name ?? accountName } as const;
    const language = locale ?? (await verifiedMemberByEmail(trx, email))?.locale ?? inviter?.locale ?? 'en';
    await addLinkMail(trx, { linkId: row.id, to: { name: '', address: email }, locale: language, content }, now);
    const created: MadeInvitation = { invitation: { ...invitation, mail: 'waiting' }, token: null };
    await context.storeResponse?.(trx, created);
    return created;
  }

  /**
   * Reads the name of the account and the inviting member, for the mail. `inviter` is undefined if a program or the
   * operator token created the invitation.
   */
  private async namesOf(trx: Transaction<Tables>, accountId: string, actor: string) {
    const account = trx.selectFrom('account').select('name').where('id', '=', accountId);
    const member = trx.selectFrom('member').select(['name', 'locale']).where('id', '=', actor);
    const { name: accountName } = await account.executeTakeFirstOrThrow();
    return { accountName, inviter: await member.executeTakeFirst() };
  }

  private async lock(trx: Transaction<Tables>, id: string): Promise<LinkRow> {
    const row = await trx
      .selectFrom('link')
      .selectAll()
      .where('id', '=', id)
      .where('kind', '=', 'invitation')
      .$if(this.database.kind === 'postgres', (select) => select.forUpdate())
      .executeTakeFirst();
    if (row === undefined) throw new Problem('resource_not_found', { detail: 'Not found. No invitation has this id.' });
    return row;
  }
}

function localeOf(row: LinkRow): Locale | undefined {
  const { locale } = dataOf(row);
  return LOCALES.find((each) => each === locale);
}

async function rejectExistingMember(trx: Transaction<Tables>, accountId: string, email: string): Promise<void> {
  const existing = await trx
    .selectFrom('account_member')
    .innerJoin('member', 'member.id', 'account_member.member_id')
    .select('member.id')
    .where('account_member.account_id', '=', accountId)
    .where('member.email_key', '=', emailKeyOf(email))
    .executeTakeFirst();
  if (existing === undefined) return;
  throw new Problem('already_a_member', { detail: 'A member of the account already has this address.' });
}

function invitationOf(row: LinkRow, nowMs: number, mail: Invitation['mail'] = 'none'): Invitation {
  const { email } = dataOf(row);
  const isExpired = row.expires_at <= nowMs;
  return {
    id: row.id,
    accountId: row.account_id ?? '',
    email: typeof email === 'string' ? email : (row.email_key ?? ''),
    role: row.role ?? 'viewer',
    status: row.used_at !== null ? 'accepted' : row.revoked_at !== null ? 'revoked' : isExpired ? 'expired' : 'open',
    mail,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
