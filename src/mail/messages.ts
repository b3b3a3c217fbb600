/** Puts mails together: the text of the reader's language, with the names of others tamed. */
import type { MailAddress } from '../config/model/mail-values.js';
import type { Message } from './mailer.js';
import { MESSAGE_TEXTS, type InvitationData, type MailLocale } from './message-texts.js';

/** The longest name of somebody else that a mail repeats. */
const LONGEST_NAME = 100;

/** What a mail is about. */
export type MailContent = ({ readonly kind: 'invitation' } & InvitationData) | { readonly kind: 'password_reset' };

/** Everything that a mail is made of. */
export interface MailParts {
  readonly to: MailAddress;
  readonly locale: MailLocale;
  readonly content: MailContent;
  /** Whole, with its token. */
  readonly link: string;
  readonly endsMs: number;
}

/** The mail as it goes out. */
export function messageOf({ to, locale, content, link, endsMs }: MailParts): Message {
  const texts = MESSAGE_TEXTS[locale];
  const ends = endOf(endsMs, locale);
  const { subject, paragraphs } =
    content.kind === 'password_reset'
      ? texts.password_reset(link, ends)
      : texts.invitation(
          { ...content, accountName: tamed(content.accountName), invitedBy: tamed(content.invitedBy) },
          link,
          ends,
        );
  return { to, subject, text: `${paragraphs.join('\n\n')}\n`, locale };
}

/** An instant as readers of that language write it; nobody's own zone is known. */
function endOf(endsMs: number, locale: MailLocale): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return `${format.format(endsMs)} UTC`;
}

/**
 * A name that somebody else has chosen, on one line and without what would make a link of it, or turn the rest of the
 * line around: a stranger reads it in a mail of ours.
 */
function tamed(name: string): string {
  const plain = name
    .replaceAll(/:\/\/|\bwww\./gi, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return [...plain].slice(0, LONGEST_NAME).join('');
}
