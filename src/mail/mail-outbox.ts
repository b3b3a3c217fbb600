/**
 * Mails that wait to be sent: each stands in the database with the link that it brings, or with the change that it
 * tells of, in one transaction. No token stands there: whoever sends gives the link a new one, which only the mail has.
 */
import type { Kysely, Selectable } from 'kysely';
import type { Clock } from '../platform/clock.js';
import { newId } from '../stores/database/ids.js';
import type { MailTable } from '../stores/database/tables/mail-table.js';
import type { Tables } from '../stores/database/schema.js';
import type { MailAddress } from '../config/model/mail-values.js';
import type { MailLocale } from './message-texts.js';
import type { MailContent } from './messages.js';

/** How long after a try that failed the next one comes: five within ten minutes of a server that is away. */
const PAUSES_MS = [15_000, 60_000, 180_000, 345_000] as const;
export const MOST_TRIES = PAUSES_MS.length + 1;
/**
 * How long a mail is one process's alone: longer than a try may take (`SEND_TIMEOUT_MS`), or a slow server would be
 * given the same mail by a second process, whose new token ends the link of the first.
 */
const LEASE_MS = 90_000;

/** A mail that tells its reader something, and brings no link for one use. */
export interface Notice {
  readonly to: MailAddress;
  readonly locale: MailLocale;
  readonly content: MailContent;
}

/** A mail with the link that it brings. */
export interface LinkMail extends Notice {
  /** `inv_…` */
  readonly linkId: string;
}

/** How it stands with a mail. */
export type MailState = MailTable['state'];

/** A mail that this process is to send now. */
export interface ClaimedMail extends Notice {
  readonly id: string;
  /** Null for a notice. */
  readonly linkId: string | null;
  /** This one included. */
  readonly tries: number;
  /** When its link ends; null where it has none. */
  readonly endsMs: number | null;
}

type MailRow = Selectable<MailTable>;

/**
 * Adds the mail of a link, or sends it again where it has been sent or given up. Give it the transaction that makes the
 * link.
 */
export async function addLinkMail(db: Kysely<Tables>, mail: LinkMail, nowMs: number): Promise<void> {
  const changing = waiting(mail, nowMs);
  await db
    .insertInto('mail')
    .values({ id: newId('eml', nowMs), link_id: mail.linkId, created_at: nowMs, ...changing })
    .onConflict((conflict) => conflict.column('link_id').doUpdateSet(changing))
    .execute();
}

/** Adds a notice. Give it the transaction that makes the change it tells of. */
export async function addNotice(db: Kysely<Tables>, notice: Notice, nowMs: number): Promise<void> {
  const row = { id: newId('eml', nowMs), link_id: null, created_at: nowMs, ...waiting(notice, nowMs) };
  await db.insertInto('mail').values(row).execute();
}

/** Forgets the notices to an address, sent or not. */
export async function forgetNoticesTo(db: Kysely<Tables>, address: string): Promise<void> {
  await db.deleteFrom('mail').where('to_address', '=', address).where('link_id', 'is', null).execute();
}

function waiting({ to, locale, content }: Notice, nowMs: number) {
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

/** How it stands with the mails of links; a link without one is not in it. */
export async function mailStatesOf(
  db: Kysely<Tables>,
  linkIds: readonly string[],
): Promise<ReadonlyMap<string, MailState>> {
  if (linkIds.length === 0) return new Map();
  const rows = await db.selectFrom('mail').select(['link_id', 'state']).where('link_id', 'in', linkIds).execute();
  return new Map(rows.map((row) => [row.link_id ?? '', row.state]));
}

/** MailOutbox hands out what is due, each mail to one process at a time. */
export class MailOutbox {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {}

  /**
   * Takes mails whose turn has come, for as long as a try takes: no more of them than are sent at once. Who takes one
   * and dies leaves it to the next try. Those that were tried too often are given up.
   */
  async claim(most: number): Promise<ClaimedMail[]> {
    const now = this.clock.now();
    const due = await this.db
      .selectFrom('mail')
      .leftJoin('link', 'link.id', 'mail.link_id')
      .selectAll('mail')
      .select('link.expires_at')
      .where('mail.state', '=', 'waiting')
      .where('mail.next_at', '<=', now)
      .orderBy('mail.next_at')
      .limit(most)
      .execute();
    const claimed: ClaimedMail[] = [];
    for (const row of due) {
      if (row.tries >= MOST_TRIES) await this.giveUp(row.id, row.error ?? 'interrupted');
      else if (await this.take(row, now + LEASE_MS)) claimed.push(claimedMail(row, row.expires_at));
    }
    return claimed;
  }

  /** Of two processes one gets it. */
  private async take({ id, tries }: MailRow, nextAt: number): Promise<boolean> {
    const { numUpdatedRows } = await this.db
      .updateTable('mail')
      .set({ tries: tries + 1, next_at: nextAt })
      .where('id', '=', id)
      .where('state', '=', 'waiting')
      .where('tries', '=', tries)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /** The server has taken it. Whoever is written to stands in the link alone from then on. */
  async sent(id: string): Promise<void> {
    await this.end(id, { state: 'sent', sent_at: this.clock.now(), error: null });
  }

  /** It is tried again later. */
  async delayed({ id, tries }: Pick<ClaimedMail, 'id' | 'tries'>, error: string): Promise<void> {
    const next = { next_at: this.clock.now() + (PAUSES_MS[tries - 1] ?? LEASE_MS) };
    const mine = this.db
      .updateTable('mail')
      .set({ error, ...next })
      .where('id', '=', id)
      .where('tries', '=', tries);
    await mine.where('state', '=', 'waiting').execute();
  }

  /** It is not tried again, unless somebody asks for it. */
  async giveUp(id: string, error: string): Promise<void> {
    await this.end(id, { state: 'failed', error });
  }

  /** Its link has ended: nobody needs it. */
  async forget(id: string): Promise<void> {
    await this.db.deleteFrom('mail').where('id', '=', id).execute();
  }

  /** What became of a notice is shown nowhere but in the log: it does not stay. */
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
