/** Tells members by mail how their sign-in was changed: whoever took a session over does not read it. */
import type { Transaction } from 'kysely';
import type { ChangeContext } from '../../records/audit-log.js';
import type { Tables } from '../../stores/database/schema.js';
import { addNotice } from '../../mail/mail-outbox.js';
import type { SignInChange, SignInChangeKind } from '../../mail/notice-texts.js';
import type { Clock } from '../../platform/clock.js';

/** The passkey that a notice names, and what else the change has removed. */
type NoticeDetails = Pick<SignInChange, 'name' | 'removed'>;

/** SignInNotices puts the mail beside the change, in its transaction. */
export class SignInNotices {
  constructor(
    private readonly clock: Clock,
    private readonly hasMail: () => boolean,
  ) {}

  /** Adds the mail of a change; nothing where no mail is sent. */
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
