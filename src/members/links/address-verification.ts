/**
 * Mails links with which members verify their own email address. Each link is mailed to the address that the link
 * verifies.
 */
import type { Transaction } from 'kysely';
import type { ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Tables } from '../../stores/database/schema.js';
import { THROTTLES } from '../../quota/model/throttle-rows.js';
import { addLinkMail } from '../../mail/mail-outbox.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { createLink } from '../links.js';
import { lockMember } from '../member-rows.js';
import { MAILED } from '../verified-addresses.js';
import { checkThrottle } from './invitation-limits.js';

const LINK_MS = 24 * 3_600_000;
const KIND = 'email_verification';

/** AddressVerification queues mails with verification links. */
export class AddressVerification {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly hasMail: () => boolean,
  ) {}

  /**
   * Queues a mail with a verification link to the member's address, and revokes the member's previous link.
   * @throws Problem `conflict` if mail is not configured or the address is already verified; `too_many_requests` for
   * more than five links in an hour
   * @returns when the link expires, in milliseconds since the epoch
   */
  async request(memberId: string, context: ChangeContext): Promise<number> {
    if (!this.hasMail()) {
      throw new Problem('conflict', {
        detail: 'Addresses cannot be verified, because no email is set up (admin.mail).',
      });
    }
    const now = this.clock.now();
    return this.database.db.transaction().execute(async (trx) => {
      const { email, name, locale, ...member } = await lockMember(trx, this.database.kind, memberId);
      if (member.email_verified_at !== null) {
        throw new Problem('conflict', { detail: 'Your address is already verified.' });
      }
      await checkRateLimit(trx, memberId, now);
      const open = trx.updateTable('link').set({ revoked_at: now }).where('kind', '=', KIND);
      await open
        .where('account_id', 'is', null)
        .where('member_id', '=', memberId)
        .where('used_at', 'is', null)
        .where('revoked_at', 'is', null)
        .execute();
      const data = { email, ...MAILED };
      const link = { kind: KIND, memberId, data, createdBy: context.actor, lastsMs: LINK_MS } as const;
      const { row } = await createLink(trx, link, now);
      const mail = { linkId: row.id, to: { name, address: email }, content: { kind: KIND } } as const;
      await addLinkMail(trx, { ...mail, locale: locale ?? 'en' }, now);
      return row.expires_at;
    });
  }
}

async function checkRateLimit(trx: Transaction<Tables>, memberId: string, nowMs: number): Promise<void> {
  const throttle = THROTTLES.addressVerifications;
  const latest = await trx
    .selectFrom('link')
    .select('created_at')
    .where('account_id', 'is', null)
    .where('kind', '=', KIND)
    .where('member_id', '=', memberId)
    .orderBy('id', 'desc')
    .limit(throttle.limit)
    .execute();
  const recent = latest.filter(({ created_at: at }) => at <= nowMs && nowMs - at < throttle.windowMs);
  checkThrottle(throttle, recent, 'You requested too many verification links within an hour.', nowMs);
}
