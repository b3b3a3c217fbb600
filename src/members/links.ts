/**
 * Links that work once: for the first owner of an installation, for who is invited, who has forgotten a password, who
 * is sent by a portal, and who has just typed `npm start`. A link that was used, taken back, is too old or never was is
 * told in one text.
 */
import type { Kysely, Selectable, Transaction } from 'kysely';
import { newId } from '../stores/database/ids.js';
import type { LinkTable } from '../stores/database/tables/member-tables.js';
import type { Tables } from '../stores/database/schema.js';
import { Problem } from '../platform/problems/errors.js';
import { createToken, hashToken, isToken } from './session-token.js';

export type LinkRow = Selectable<LinkTable>;

/** What a new link is for. */
export interface NewLink {
  readonly kind: LinkRow['kind'];
  readonly accountId?: string;
  readonly memberId?: string;
  readonly emailKey?: string;
  readonly role?: LinkRow['role'];
  readonly data?: Readonly<Record<string, unknown>>;
  readonly createdBy: string;
  readonly lastsMs: number;
}

/** Makes a link; its token exists in the clear only in what is returned. */
export async function createLink(
  db: Kysely<Tables>,
  link: NewLink,
  nowMs: number,
): Promise<{ readonly token: string; readonly row: LinkRow }> {
  const token = createToken();
  const row: LinkRow = {
    hash: hashToken(token),
    id: newId('inv', nowMs),
    kind: link.kind,
    account_id: link.accountId ?? null,
    member_id: link.memberId ?? null,
    email_key: link.emailKey ?? null,
    role: link.role ?? null,
    data: link.data === undefined ? null : JSON.stringify(link.data),
    created_by: link.createdBy,
    created_at: nowMs,
    expires_at: nowMs + link.lastsMs,
    used_at: null,
    revoked_at: null,
  };
  await db.insertInto('link').values(row).execute();
  return { token, row };
}

/** The link of a token while it works. Rejects with `link_ended`. Looking uses nothing up. */
export async function findLink(db: Kysely<Tables>, token: string, nowMs: number): Promise<LinkRow> {
  if (!isToken(token)) throw linkEnded();
  const row = await db.selectFrom('link').selectAll().where('hash', '=', hashToken(token)).executeTakeFirst();
  const works = row !== undefined && row.used_at === null && row.revoked_at === null && row.expires_at > nowMs;
  if (!works) throw linkEnded();
  return row;
}

/** Uses a link up in the transaction of what it is for: of two at once one gets it. Rejects with `link_ended`. */
export async function takeLink(trx: Transaction<Tables>, hash: string, nowMs: number): Promise<LinkRow> {
  const row = await trx
    .updateTable('link')
    .set({ used_at: nowMs })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) throw linkEnded();
  return row;
}

/** One text for every link that does not work. */
export function linkEnded(): Problem {
  return new Problem('link_ended', {
    detail: 'This link was used, taken back or is too old, or it was not copied whole. Ask for a new one.',
  });
}

/** What a link carries beside its columns. */
export function dataOf({ data }: LinkRow): Readonly<Record<string, unknown>> {
  return data === null ? {} : (JSON.parse(data) as Record<string, unknown>);
}
