/** Sends a mail by SMTP: what may stand in its header, how long a server may take, and what a failure means. */
import type { MailConfig } from '../config/model/admin-schema.js';
import { isLoopbackHost } from '../config/model/address-values.js';
import { emailAddress, type MailAddress } from '../config/model/mail-values.js';

/** Until a connection stands, and until the server greets. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Between two answers of the server. */
const SILENCE_TIMEOUT_MS = 20_000;
/** The whole of one mail: a server that trickles would never be silent. */
const SEND_TIMEOUT_MS = 60_000;

/** Characters that end a line of a header, or hide what stands there. */
// oxlint-disable-next-line no-control-regex -- they are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** A mail of plain text. */
export interface Message {
  readonly to: MailAddress;
  readonly subject: string;
  readonly text: string;
  /** Language of the text (RFC 5646). */
  readonly locale: string;
}

/** Whoever sends mail. */
export interface Mailer {
  /** Hands a mail to the server. Rejects with `MailError` where that does not take it. */
  send(message: Message): Promise<void>;
}

/** What nodemailer is told of the server. */
export interface SmtpOptions {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  readonly requireTLS: boolean;
  readonly tls?: { readonly rejectUnauthorized: false };
  readonly auth?: { readonly user: string; readonly pass: string };
  readonly connectionTimeout: number;
  readonly greetingTimeout: number;
  readonly dnsTimeout: number;
  readonly socketTimeout: number;
  readonly disableFileAccess: boolean;
  readonly disableUrlAccess: boolean;
}

/** MailError says that a mail was not sent; nothing of mail or server stands in it but codes. */
export class MailError extends Error {
  override readonly name = 'MailError';
  constructor(
    /** Of nodemailer or Node, with the server's own behind it: `EAUTH 535`, `ECONNECTION`. */
    readonly code: string,
    /** Whether the same mail would be refused again: there is no sense in another try. */
    readonly isFinal: boolean,
  ) {
    super(`the mail was not sent: ${code}`);
  }
}

/** SmtpMailer sends by the server of `admin.mail`. */
export class SmtpMailer implements Mailer {
  constructor(
    private readonly settings: MailConfig,
    private readonly sendTimeoutMs = SEND_TIMEOUT_MS,
  ) {}

  async send({ to, subject, text, locale }: Message): Promise<void> {
    const { from } = this.settings;
    checkHeader([from.name, from.address, to.name, to.address, subject, locale]);
    if (!emailAddress.safeParse(to.address).success) throw new MailError('EADDRESS', true);
    // Three times the memory of the rest of signing in: not before there is a mail.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport(smtpOptions(this.settings));
    // Objects, never texts: in a text everything behind a line break would be another address.
    const mail = {
      from,
      to,
      subject,
      text,
      headers: { 'Auto-Submitted': 'auto-generated', 'Content-Language': locale },
    };
    const late = AbortSignal.timeout(this.sendTimeoutMs);
    try {
      // The signal ends the connection, too: a server that trickles would keep it for good.
      await transport.sendMail({ ...mail, signal: late });
    } catch (error) {
      throw late.aborted ? new MailError('ETIMEDOUT', false) : mailErrorOf(error);
    } finally {
      transport.close();
    }
  }
}

/** What nodemailer is told of the server that is configured. */
export function smtpOptions({ url, requireTls }: MailConfig): SmtpOptions {
  const { protocol, hostname, port, username, password } = new URL(url);
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  const secure = protocol === 'smtps:';
  const requireTLS = !secure && requireTls && !isLoopbackHost(host);
  return {
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS,
    // A server that may be spoken to in the clear is spoken to under any certificate: better than nothing (RFC 7435).
    ...(secure || requireTLS ? {} : { tls: { rejectUnauthorized: false } }),
    ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    // A text of ours is never the name of a file, nor of a page.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function checkHeader(texts: readonly string[]): void {
  if (texts.some((text) => CONTROL.test(text))) throw new MailError('EHEADER', true);
}

/** Refused for good is who or what is refused by the server; a wrong password or certificate of ours can be mended. */
function mailErrorOf(error: unknown): MailError {
  const { code = 'EUNKNOWN', responseCode } = error as { readonly code?: string; readonly responseCode?: number };
  const isOfMail = code === 'EENVELOPE' || code === 'EMESSAGE';
  const isFinal = isOfMail && responseCode !== undefined && responseCode >= 500;
  return new MailError(responseCode === undefined ? code : `${code} ${responseCode}`, isFinal);
}
