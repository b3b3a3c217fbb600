/** Builds the subject and text of a mail in the reader's language. Sanitizes names that other people have chosen. */
import type { MailAddress } from '../config/model/mail-values.js';
import type { Message } from './mailer.js';
import { MESSAGE_TEXTS, type InvitationData, type MailLocale, type MailText } from './message-texts.js';
import { NOTICE_TEXTS, type SignInChange } from './notice-texts.js';
import { WEBHOOK_TEXTS, type WebhookDisabled } from './webhook-texts.js';

/** Maximum length of a name that someone else has chosen. */
const LONGEST_NAME = 100;

export type MailContent =
  | ({ readonly kind: 'invitation' } & InvitationData)
  | { readonly kind: 'password_reset' }
  | { readonly kind: 'email_verification' }
  | ({ readonly kind: 'sign_in_changed' } & SignInChange)
  | ({ readonly kind: 'webhook_disabled' } & WebhookDisabled);

export interface MailParts {
  readonly to: MailAddress;
  readonly locale: MailLocale;
  readonly content: MailContent;
  /** URL of the single-use link with its token. For a notice, the URL of the page that the notice refers to. */
  readonly link: string;
  /** Expiration of the link, in milliseconds since the epoch. Null for a notice. */
  readonly endsMs: number | null;
}

export function messageOf(mail: MailParts): Message {
  const { subject, paragraphs } = textOf(mail);
  return { to: mail.to, subject, text: `${paragraphs.join('\n\n')}\n`, locale: mail.locale };
}

function textOf({ to, locale, content, link, endsMs }: MailParts): MailText {
  const texts = MESSAGE_TEXTS[locale];
  const ends = endsMs === null ? '' : formatTime(endsMs, locale);
  switch (content.kind) {
    case 'password_reset':
      return texts.password_reset(link, ends);
    case 'email_verification':
      return texts.email_verification(link, ends);
    case 'invitation': {
      const names = { accountName: sanitizeName(content.accountName), invitedBy: sanitizeName(content.invitedBy) };
      return texts.invitation({ ...content, ...names }, link, ends);
    }
    case 'sign_in_changed': {
      const { change, by, name = '', removed = [], atMs } = content;
      const at = formatTime(atMs, locale);
      const names = {
        name: sanitizeName(name),
        removed: removed.map((each) => ({ ...each, name: sanitizeName(each.name) })),
      };
      return NOTICE_TEXTS[locale]({ change, by, ...names, email: to.address, at, link });
    }
    case 'webhook_disabled': {
      const names = { accountName: sanitizeName(content.accountName), host: sanitizeName(content.host) };
      return WEBHOOK_TEXTS[locale]({ ...content, ...names, link });
    }
  }
}

/** Formats a time in the reader's language. The time is in UTC, because the reader's time zone is unknown. */
function formatTime(ms: number, locale: MailLocale): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return `${format.format(ms)} UTC`;
}

/**
 * Sanitizes a name that someone else has chosen, because our mail shows the name to another person. The result is one
 * line without characters that change the text direction. Also removes `://` and `www.`, from which mail programs
 * recognize links.
 */
function sanitizeName(name: string): string {
  const plain = name
    .replaceAll(/:\/\/|\bwww\./gi, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return [...plain].slice(0, LONGEST_NAME).join('');
}
