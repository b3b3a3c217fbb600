/** Mails members when their sign-in methods change, so that they notice a hijacked session. */
import type { Transaction } from 'kysely';
import type { ChangeContext } from '../../records/audit-log.js';
import type { Tables } from '../../stores/database/schema.js';
import { addNotice } from '../../mail/mail-outbox.js';
import type { SignInChange, SignInChangeKind } from '../../mail/notice-texts.js';
import type { Clock } from '../../platform/clock.js';

/** NoticeDetails holds the name of the changed passkey, and the factors that the change removed. */
type NoticeDetails = Pick<SignInChange, 'name' | 'removed'>;

/** SignInNotices queues a mail about a change, in the transaction of the change. */
export class SignInNotices {
  constructor(
    private readonly clock: Clock,
    private readonly hasMail: () => boolean,
  ) {}

  /** Queues a mail about a change to the member. Does nothing if no mail server is configured. */
  async add(
    trx: Transaction<Tables>,
    memberId: string,
    change: SignInChangeKind,
    { actor }: Pick<ChangeContext, 'actor'>,
    details: NoticeDetails = {},
  ): Promise<void> {
    if (!this.hasMail()) return;
    const ofMember = trx.selectFrom('member').select(['name', 'email', 'locale']).where('id', '=', memberId);
    const { name, email, locale } = await ofMember.executeTakeFirstOrThrow();
    const now = this.clock.now();
    const by = actor === memberId ? 'member' : 'operator';
    const content = { kind: 'sign_in_changed', change, by, atMs: now, ...details } as const;
    await addNotice(trx, { to: { name, address: email }, locale: locale ?? 'en', content }, now);
  }
}
