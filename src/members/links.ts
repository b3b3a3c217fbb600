/**
 * Creates, finds and uses single-use links: for the first operator, invitations, password resets, portal sign-ins,
 * email verification and the demo. Used, revoked, expired and unknown links get the same error, so that the error
 * reveals nothing about a link.
 */
import type { Kysely, Selectable, Transaction } from 'kysely';
import { newId } from '../stores/database/ids.js';
import type { LinkTable } from '../stores/database/tables/member-tables.js';
import type { Tables } from '../stores/database/schema.js';
import { Problem } from '../platform/problems/errors.js';
import { createToken, hashToken, isToken } from './session-token.js';

export type LinkRow = Selectable<LinkTable>;

/**
 * NewLink holds the fields of a new link. `lastsMs` is its lifetime in milliseconds. `createdBy` is an actor of the
 * audit log.
 */
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

/** Creates a link. The returned token is the only copy in plain text, because the database stores only its hash. */
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

/**
 * Returns the usable link with this token. Does not mark the link as used.
 * @throws Problem `link_ended`
 */
export async function findLink(db: Kysely<Tables>, token: string, nowMs: number): Promise<LinkRow> {
  if (!isToken(token)) throw linkEnded();
  const row = await db.selectFrom('link').selectAll().where('hash', '=', hashToken(token)).executeTakeFirst();
  const isUsable = row !== undefined && row.used_at === null && row.revoked_at === null && row.expires_at > nowMs;
  if (!isUsable) throw linkEnded();
  return row;
}

/**
 * Marks a link as used, in the transaction of the action that the link authorizes. Only one of two concurrent calls
 * succeeds.
 * @throws Problem `link_ended`
 */
export async function consumeLink(trx: Transaction<Tables>, hash: string, nowMs: number): Promise<LinkRow> {
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

/** Creates the error for a link that cannot be used. */
export function linkEnded(): Problem {
  return new Problem('link_ended', {
    detail: 'This link has expired, was already used or revoked, or is incomplete. Ask for a new one.',
  });
}

/** Parses the data of a link. Returns an empty object if the link has no data. */
export function dataOf({ data }: LinkRow): Readonly<Record<string, unknown>> {
  return data === null ? {} : (JSON.parse(data) as Record<string, unknown>);
}
