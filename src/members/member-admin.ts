/**
 * Lets operators list, create, change and disable the members of the installation. Also mails password reset links.
 * Member rows are never deleted, because the audit log refers to them.
 */
import type { Transaction } from 'kysely';
import { changedFields, recordChange, type ChangeContext } from '../records/audit-log.js';
import { checkVersion, type ExpectedVersions } from '../records/versions.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../stores/database/cursor.js';
import type { Tables } from '../stores/database/schema.js';
import { addLinkMail } from '../mail/mail-outbox.js';
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import { createLink } from './links.js';
import type { CreateMember, UpdateMember } from './member-fields.js';
import { auditedMember, lockMember, memberOf, type Member, type MemberRow } from './member-rows.js';
import { addMember } from './new-members.js';
import { endSessionsOf } from './sessions.js';
import type { AccessChange, AccessChanges } from './credential-ends.js';
import { checkCreator } from './credentials.js';
import { MAILED, verifiedMemberByEmail } from './verified-addresses.js';

/** PasswordLink is a link with which a member sets a password. */
export interface PasswordLink {
  /** Token of the link. Null if the link is sent by mail. */
  readonly token: string | null;
  readonly expiresAt: number;
}

/** CreatedMember is a new member, with the link to set their password. */
export interface CreatedMember {
  readonly member: Member;
  readonly link: PasswordLink;
}

const RESET_LINK_MS = 24 * 3_600_000;
const FIRST_PASSWORD_LINK_MS = 7 * 86_400_000;
/** Minimum time between a member's latest password link and a reset mail that the member requests. */
const RESET_INTERVAL_MS = 5 * 60_000;
const LIST = 'members';

/**
 * MemberAdmin manages members. Methods reject with a `Problem` for errors of the caller, and with the database's error
 * otherwise.
 */
export class MemberAdmin {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly hasMail: () => boolean,
    private readonly access: AccessChanges,
  ) {}

  /** Returns a page of the members in order of creation. Omits erased members. */
  async list({ limit, cursor }: PageRequest): Promise<Page<Member>> {
    let query = this.database.db.selectFrom('member').selectAll().where('removed_at', 'is', null);
    if (cursor !== undefined) query = query.where('id', '>', decodeCursor(LIST, cursor));
    const rows = await query
      .orderBy('id')
      .limit(limit + 1)
      .execute();
    return pageOf(LIST, limit, rows, memberOf);
  }

  /**
   * Creates a member without a password, and a link with which the member sets a password.
   * @throws Problem `already_a_member`; `forbidden` if the caller lost their operator rights in the meantime
   */
  async create(input: CreateMember, context: ChangeContext): Promise<CreatedMember> {
    const now = this.clock.now();
    const fields = {
      email: input.email,
      name: input.name,
      isOperator: input.is_operator,
      password: null,
      locale: null,
    };
    return await this.database.db.transaction().execute(async (trx) => {
      await checkCreator(trx, this.database.kind, context, { type: 'password_link', role: null }, null);
      const row = await addMember(trx, fields, () => context, addressTaken, now);
      const link = await this.createPasswordLink(trx, row, FIRST_PASSWORD_LINK_MS, context);
      const created = { member: memberOf(row), link };
      if (link.token === null) await context.storeResponse?.(trx, created);
      return created;
    });
  }

  /**
   * Changes the given fields. Disabling a member or changing their operator rights ends their sessions at once.
   * Credentials that the member may no longer create end too.
   * @throws Problem `resource_not_found`; `precondition_failed` for a stale version
   */
  async update(
    id: string,
    changes: UpdateMember,
    context: ChangeContext,
    expected?: ExpectedVersions,
  ): Promise<Member> {
    const row = await this.access.run(async (access) => {
      const before = await lockMember(access.trx, this.database.kind, id);
      return updateMemberRow(access, before, changes, context, this.clock.now(), expected);
    });
    return memberOf(row);
  }

  /**
   * Creates a password reset link and revokes the member's earlier links.
   * @throws Problem `resource_not_found`; `forbidden` if the caller lost their operator rights in the meantime
   */
  async resetLink(id: string, context: ChangeContext): Promise<PasswordLink> {
    return this.database.db.transaction().execute(async (trx) => {
      await checkCreator(trx, this.database.kind, context, { type: 'password_link', role: null }, null);
      const row = await lockMember(trx, this.database.kind, id);
      const link = await this.createPasswordLink(trx, row, RESET_LINK_MS, context);
      if (link.token === null) await context.storeResponse?.(trx, link);
      return link;
    });
  }

  /**
   * Mails a reset link to the active member with this verified address. Does nothing if no such member exists, if no
   * mail server is configured, or within five minutes of the member's latest link. So the caller cannot learn whether a
   * member exists.
   */
  async requestReset(email: string, context: ChangeContext): Promise<void> {
    if (!this.hasMail()) return;
    // An unverified address may belong to someone else, who could then sign in as the member.
    const row = await verifiedMemberByEmail(this.database.db, email);
    if (row === undefined || row.status !== 'active') return;
    await this.database.db.transaction().execute(async (trx) => {
      // Check while the member is locked, so that two concurrent requests send only one mail.
      const member = await lockMember(trx, this.database.kind, row.id);
      if (await this.hasRecentLink(trx, row.id)) return;
      await this.createPasswordLink(trx, member, RESET_LINK_MS, { ...context, actor: 'nobody' });
    });
  }

  private async hasRecentLink(trx: Transaction<Tables>, memberId: string): Promise<boolean> {
    const links = trx.selectFrom('link').select('id').where('kind', '=', 'password_reset');
    const recent = links
      .where('member_id', '=', memberId)
      .where('created_at', '>', this.clock.now() - RESET_INTERVAL_MS)
      .limit(1);
    return (await recent.executeTakeFirst()) !== undefined;
  }

  /**
   * Creates a link to set a password and revokes the member's previous links. Mails the link if a mail server is
   * configured.
   */
  private async createPasswordLink(
    trx: Transaction<Tables>,
    { id, email, name, locale }: MemberRow,
    lastsMs: number,
    context: ChangeContext,
  ): Promise<PasswordLink> {
    const now = this.clock.now();
    const open = trx.updateTable('link').set({ revoked_at: now }).where('kind', '=', 'password_reset');
    await open.where('member_id', '=', id).where('used_at', 'is', null).where('revoked_at', 'is', null).execute();
    const data = this.hasMail() ? MAILED : {};
    const link = { kind: 'password_reset', memberId: id, data, createdBy: context.actor, lastsMs } as const;
    const { token, row } = await createLink(trx, link, now);
    const change = { action: 'member.password_link_made', before: null, after: null } as const;
    await recordChange(trx, context, { ...targetOf(id), ...change }, now);
    if (!this.hasMail()) return { token, expiresAt: row.expires_at };
    const to = { name, address: email };
    const content = { kind: 'password_reset' } as const;
    await addLinkMail(trx, { linkId: row.id, to, locale: locale ?? 'en', content }, now);
    return { token: null, expiresAt: row.expires_at };
  }
}

/**
 * Updates a locked member. If the update disables the member or changes their operator rights, ends their sessions.
 * Also ends the credentials that the member may no longer create. Returns the row unchanged if no field changes.
 * Rejects with `precondition_failed` for a stale version.
 */
export async function updateMemberRow(
  access: AccessChange,
  before: MemberRow,
  changes: UpdateMember,
  context: ChangeContext,
  nowMs: number,
  expected?: ExpectedVersions,
): Promise<MemberRow> {
  const { id } = before;
  const { trx } = access;
  const { name = before.name, status = before.status, is_operator: isOperator } = changes;
  const operatorFlag = isOperator === undefined ? before.is_operator : Number(isOperator);
  const changed = { name, status, is_operator: operatorFlag, version: before.version + 1, updated_at: nowMs };
  const after: MemberRow = { ...before, ...changed };
  const difference = changedFields(auditedMember(before), auditedMember(after));
  if (difference === null) return before;
  await checkVersion(trx, { ...before, accountId: null }, expected, 'UTC');
  context.authorize?.('member', accessOf(before), accessOf(after));
  await trx.updateTable('member').set(changed).where('id', '=', id).execute();
  // End the sessions, because a session must not keep outdated rights.
  if (status === 'disabled' || operatorFlag !== before.is_operator) await endSessionsOf(trx, id);
  const target = { ...targetOf(id), targetVersion: after.version, action: 'member.updated' } as const;
  await recordChange(trx, context, { ...target, ...difference }, nowMs);
  if (status === 'disabled') await access.endCredentials(id, 'creator_disabled', context);
  else if (operatorFlag === 0) await access.endCredentials(id, 'creator_no_longer_operator', context);
  return after;
}

function accessOf({ status, is_operator: isOperator }: MemberRow): { isActive: boolean; isOperator: boolean } {
  return { isActive: status === 'active', isOperator: isOperator === 1 };
}

function addressTaken(): Problem {
  return new Problem('already_a_member', { detail: 'A member already has this address.' });
}

function targetOf(id: string): { accountId: null; targetType: 'member'; targetId: string } {
  return { accountId: null, targetType: 'member', targetId: id };
}
