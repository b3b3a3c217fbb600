/** Defines schemas for the mail server and for email addresses. */
import { z } from 'zod';

export const MAIL_URL_MESSAGE = 'must be smtps://user:password@host or smtp://host, with a port where it is another';
export const MAIL_ESCAPES_MESSAGE = 'must be a URL: in a user name or password # is %23, / %2F, ? %3F, @ %40 and % %25';
export const MAIL_ADDRESS_MESSAGE =
  'must be an address such as no-reply@example.com, or Trailgate <no-reply@example.com>';

/** Maximum length of an email address. RFC 5321 section 4.5.3.1.3 allows 256 octets, which include angle brackets. */
const LONGEST_ADDRESS = 254;
/** Matches email addresses as zod does, but also limits the local part (RFC 5321 section 4.5.3.1.1). */
const EMAIL = new RegExp(`^(?=[^@]{1,64}@)${z.regexes.email.source.slice(1)}`);

/** Sender or recipient of an email. */
export interface MailAddress {
  /** Display name. Empty if the address has no display name. */
  readonly name: string;
  readonly address: string;
}

/** Schema of an email address, which is a single line that is safe in mail headers. */
export const emailAddress = z.email({ pattern: EMAIL }).max(LONGEST_ADDRESS);

/**
 * Schema of the mail server's URL. Rejects a query, because its options could turn off certificate checks. Rejects a
 * path and a fragment, because they have no meaning.
 */
export const mailUrl = z
  .string()
  .regex(/^smtps?:\/\//, MAIL_URL_MESSAGE)
  .refine((text) => isServerUrl(text), MAIL_ESCAPES_MESSAGE);

/** Parses `Trailgate <no-reply@example.com>` or `no-reply@example.com` to a display name and an address. */
export const mailAddress = z.string(MAIL_ADDRESS_MESSAGE).transform((text, context): MailAddress => {
  const [, name = '', inBrackets] = /^\s*([^<>"\p{Cc}]*?)\s*<([^<>]+)>\s*$/u.exec(text) ?? [];
  const address = inBrackets ?? text.trim();
  if (emailAddress.safeParse(address).success) return { name, address };
  context.addIssue({ code: 'custom', message: MAIL_ADDRESS_MESSAGE });
  return z.NEVER;
});

function isServerUrl(text: string): boolean {
  if (/%(?![\dA-Fa-f]{2})/.test(text)) return false;
  const url = URL.parse(text);
  return url !== null && url.hostname !== '' && ['', '/'].includes(url.pathname) && !/[?#]/.test(text);
}
