/** Puts mails together: the text of the reader's language, with the names of others tamed. */
import type { MailAddress } from '../config/model/mail-values.js';
import type { Message } from './mailer.js';
import { MESSAGE_TEXTS, type InvitationData, type MailLocale, type MailText } from './message-texts.js';
import { NOTICE_TEXTS, type SignInChange } from './notice-texts.js';
import { WEBHOOK_TEXTS, type WebhookDisabled } from './webhook-texts.js';

/** The longest name of somebody else that a mail repeats. */
const LONGEST_NAME = 100;

/** What a mail is about. */
export type MailContent =
  | ({ readonly kind: 'invitation' } & InvitationData)
  | { readonly kind: 'password_reset' }
  | { readonly kind: 'email_verification' }
  | ({ readonly kind: 'sign_in_changed' } & SignInChange)
  | ({ readonly kind: 'webhook_disabled' } & WebhookDisabled);

/** Everything that a mail is made of. */
export interface MailParts {
  readonly to: MailAddress;
  readonly locale: MailLocale;
  readonly content: MailContent;
  /** Whole, with its token; of a notice where its reader can look. */
  readonly link: string;
  /** When the link ends; null where it does not. */
  readonly endsMs: number | null;
}

/** The mail as it goes out. */
export function messageOf(mail: MailParts): Message {
  const { subject, paragraphs } = textOf(mail);
  return { to: mail.to, subject, text: `${paragraphs.join('\n\n')}\n`, locale: mail.locale };
}

function textOf({ to, locale, content, link, endsMs }: MailParts): MailText {
  const texts = MESSAGE_TEXTS[locale];
  const ends = endsMs === null ? '' : instantOf(endsMs, locale);
  switch (content.kind) {
    case 'password_reset':
      return texts.password_reset(link, ends);
    case 'email_verification':
      return texts.email_verification(link, ends);
    case 'invitation': {
      const names = { accountName: tamed(content.accountName), invitedBy: tamed(content.invitedBy) };
      return texts.invitation({ ...content, ...names }, link, ends);
    }
    case 'sign_in_changed': {
      const { change, by, name = '', removed = [], atMs } = content;
      const at = instantOf(atMs, locale);
      const names = { name: tamed(name), removed: removed.map((each) => ({ ...each, name: tamed(each.name) })) };
      return NOTICE_TEXTS[locale]({ change, by, ...names, email: to.address, at, link });
    }
    case 'webhook_disabled': {
      const names = { accountName: tamed(content.accountName), host: tamed(content.host) };
      return WEBHOOK_TEXTS[locale]({ ...content, ...names, link });
    }
  }
}

/** An instant as readers of that language write it; nobody's own zone is known. */
function instantOf(ms: number, locale: MailLocale): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return `${format.format(ms)} UTC`;
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
