/**
 * Stores outgoing mails in the database until the worker sends them. A mail is stored in the same transaction as its
 * link, or as the change that the mail reports. Tokens are never stored. Each attempt to send gives the link a new
 * token, which only that mail contains.
 */
import type { Kysely, Selectable } from 'kysely';
import type { Clock } from '../platform/clock.js';
import { newId } from '../stores/database/ids.js';
import type { MailTable } from '../stores/database/tables/mail-table.js';
import type { Tables } from '../stores/database/schema.js';
import type { MailAddress } from '../config/model/mail-values.js';
import type { MailLocale } from './message-texts.js';
import type { MailContent } from './messages.js';

/** Pauses after failed attempts, so that five attempts fit into the first ten minutes of a server outage. */
const PAUSES_MS = [15_000, 60_000, 180_000, 345_000] as const;
export const MAX_TRIES = PAUSES_MS.length + 1;
/**
 * Time for which a claimed mail belongs to one process. This time must be longer than an attempt (`SEND_TIMEOUT_MS`).
 * Otherwise, a second process could send the mail again, and its new token would invalidate the link of the first mail.
 */
const LEASE_MS = 90_000;

/**
 * Notice holds the recipient, language and content of a mail. A notice only informs its reader. `LinkMail` adds a
 * single-use link.
 */
export interface Notice {
  readonly to: MailAddress;
  readonly locale: MailLocale;
  readonly content: MailContent;
}

export interface LinkMail extends Notice {
  /** ID of the link (`inv_…`). */
  readonly linkId: string;
}

export type MailState = MailTable['state'];

export interface ClaimedMail extends Notice {
  readonly id: string;
  /** ID of the link. Null for a notice. */
  readonly linkId: string | null;
  /** Number of attempts, including the attempt for which the mail is claimed. */
  readonly tries: number;
  /** Expiration of the link, in milliseconds since the epoch. Null for a notice. */
  readonly endsMs: number | null;
}

type MailRow = Selectable<MailTable>;

/**
 * Queues the mail of a link. If the link already has a mail, replaces that mail and queues it again. Call it in the
 * transaction that creates the link.
 */
export async function addLinkMail(db: Kysely<Tables>, mail: LinkMail, nowMs: number): Promise<void> {
  const changing = queuedMail(mail, nowMs);
  await db
    .insertInto('mail')
    .values({ id: newId('eml', nowMs), link_id: mail.linkId, created_at: nowMs, ...changing })
    .onConflict((conflict) => conflict.column('link_id').doUpdateSet(changing))
    .execute();
}

/** Queues a notice. Call it in the transaction of the change that the notice reports. */
export async function addNotice(db: Kysely<Tables>, notice: Notice, nowMs: number): Promise<void> {
  const row = { id: newId('eml', nowMs), link_id: null, created_at: nowMs, ...queuedMail(notice, nowMs) };
  await db.insertInto('mail').values(row).execute();
}

/** Deletes all queued notices to an address. Sent notices no longer exist. */
export async function deleteNoticesTo(db: Kysely<Tables>, address: string): Promise<void> {
  await db.deleteFrom('mail').where('to_address', '=', address).where('link_id', 'is', null).execute();
}

function queuedMail({ to, locale, content }: Notice, nowMs: number) {
  return {
    to_name: to.name,
    to_address: to.address,
    locale,
    content: JSON.stringify(content),
    state: 'waiting' as const,
    tries: 0,
    next_at: nowMs,
    error: null,
    sent_at: null,
  };
}

/** Returns the states of the mails of these links, by link ID. Links without a mail have no entry. */
export async function mailStatesOf(
  db: Kysely<Tables>,
  linkIds: readonly string[],
): Promise<ReadonlyMap<string, MailState>> {
  if (linkIds.length === 0) return new Map();
  const rows = await db.selectFrom('mail').select(['link_id', 'state']).where('link_id', 'in', linkIds).execute();
  return new Map(rows.map((row) => [row.link_id ?? '', row.state]));
}

/** MailOutbox gives each due mail to one process at a time, and records the outcome of each attempt. */
export class MailOutbox {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {}

  /**
   * Claims due mails for one attempt each. If the process dies, another process claims the mail after the lease. Marks
   * mails that have used all attempts as failed.
   * @param limit number of mails that the caller can send at once
   */
  async claim(limit: number): Promise<ClaimedMail[]> {
    const now = this.clock.now();
    const due = await this.db
      .selectFrom('mail')
      .leftJoin('link', 'link.id', 'mail.link_id')
      .selectAll('mail')
      .select('link.expires_at')
      .where('mail.state', '=', 'waiting')
      .where('mail.next_at', '<=', now)
      .orderBy('mail.next_at')
      .limit(limit)
      .execute();
    const claimed: ClaimedMail[] = [];
    for (const row of due) {
      if (row.tries >= MAX_TRIES) await this.markFailed(row.id, row.error ?? 'interrupted');
      else if (await this.claimOne(row, now + LEASE_MS)) claimed.push(claimedMail(row, row.expires_at));
    }
    return claimed;
  }

  /** Claims a mail for one attempt. Returns false if another process claimed the mail first. */
  private async claimOne({ id, tries }: MailRow, nextAt: number): Promise<boolean> {
    const { numUpdatedRows } = await this.db
      .updateTable('mail')
      .set({ tries: tries + 1, next_at: nextAt })
      .where('id', '=', id)
      .where('state', '=', 'waiting')
      .where('tries', '=', tries)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  async markSent(id: string): Promise<void> {
    await this.end(id, { state: 'sent', sent_at: this.clock.now(), error: null });
  }

  /** Schedules the next attempt. Does nothing if another process has claimed the mail in the meantime. */
  async scheduleRetry({ id, tries }: Pick<ClaimedMail, 'id' | 'tries'>, error: string): Promise<void> {
    const next = { next_at: this.clock.now() + (PAUSES_MS[tries - 1] ?? LEASE_MS) };
    const claimed = this.db
      .updateTable('mail')
      .set({ error, ...next })
      .where('id', '=', id)
      .where('tries', '=', tries);
    await claimed.where('state', '=', 'waiting').execute();
  }

  /**
   * Marks the mail of a link as failed. The worker sends the mail again only if a person resends it. A failed notice is
   * deleted.
   */
  async markFailed(id: string, error: string): Promise<void> {
    await this.end(id, { state: 'failed', error });
  }

  /** Deletes a mail, because its link has expired, or was used or revoked. */
  async delete(id: string): Promise<void> {
    await this.db.deleteFrom('mail').where('id', '=', id).execute();
  }

  /**
   * Ends the attempts of a mail. Deletes the mail if it is a notice, because only the log reports the outcome of
   * notices. Otherwise, sets the given columns.
   */
  private async end(id: string, change: Partial<Pick<MailRow, 'state' | 'sent_at' | 'error'>>): Promise<void> {
    const notice = this.db.deleteFrom('mail').where('id', '=', id).where('link_id', 'is', null);
    if ((await notice.executeTakeFirst()).numDeletedRows === 0n) await this.update(id, change);
  }

  private async update(id: string, change: Partial<Pick<MailRow, 'state' | 'sent_at' | 'error'>>): Promise<void> {
    await this.db.updateTable('mail').set(change).where('id', '=', id).where('state', '=', 'waiting').execute();
  }
}

function claimedMail(row: MailRow, endsMs: number | null): ClaimedMail {
  return {
    id: row.id,
    linkId: row.link_id,
    to: { name: row.to_name, address: row.to_address },
    locale: row.locale,
    content: JSON.parse(row.content) as MailContent,
    tries: row.tries + 1,
    endsMs,
  };
}
