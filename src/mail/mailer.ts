/**
 * Sends one mail by SMTP, for the mail worker. Checks header values, limits the time, and classifies failures as final
 * or temporary.
 */
import type { MailConfig } from '../config/model/admin-schema.js';
import { isLoopbackHost } from '../config/model/address-values.js';
import { emailAddress, type MailAddress } from '../config/model/mail-values.js';

/** Timeout for the DNS lookup, for the connection, and for the server's greeting. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Timeout without any data from the server. */
const SILENCE_TIMEOUT_MS = 20_000;
/** Timeout for sending one mail. Without this timeout, a server that sends single bytes would never time out. */
const SEND_TIMEOUT_MS = 60_000;

/** Control characters and line separators, which can end a header line or hide its content. */
// oxlint-disable-next-line no-control-regex -- they are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

export interface Message {
  readonly to: MailAddress;
  readonly subject: string;
  readonly text: string;
  /** Language tag of the text (RFC 5646). */
  readonly locale: string;
}

export interface Mailer {
  /** Sends a mail to the mail server. Rejects with `MailError` if the server does not accept the mail. */
  send(message: Message): Promise<void>;
}

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

/** MailError reports that a mail was not sent. The error contains only codes, and no text of the mail or the server. */
export class MailError extends Error {
  override readonly name = 'MailError';
  constructor(
    /**
     * Code of nodemailer or Node, followed by the server's status if the server responded, such as `EAUTH 535` or
     * `ECONNECTION`.
     */
    readonly code: string,
    /** Whether another attempt would fail in the same way. */
    readonly isFinal: boolean,
  ) {
    super(`the mail was not sent: ${code}`);
  }
}

export class SmtpMailer implements Mailer {
  constructor(
    private readonly settings: MailConfig,
    private readonly sendTimeoutMs = SEND_TIMEOUT_MS,
  ) {}

  async send({ to, subject, text, locale }: Message): Promise<void> {
    const { from } = this.settings;
    checkHeader([from.name, from.address, to.name, to.address, subject, locale]);
    if (!emailAddress.safeParse(to.address).success) throw new MailError('EADDRESS', true);
    // Load nodemailer with the first mail, because the library takes three times the memory of all other sign-in code.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport(smtpOptions(this.settings));
    // Pass addresses as objects. In a string, the text after a line break could become another address.
    const mail = {
      from,
      to,
      subject,
      text,
      headers: { 'Auto-Submitted': 'auto-generated', 'Content-Language': locale },
    };
    const timeout = AbortSignal.timeout(this.sendTimeoutMs);
    try {
      // The signal also closes the connection. Otherwise, a server that sends single bytes would keep the connection
      // open forever.
      await transport.sendMail({ ...mail, signal: timeout });
    } catch (error) {
      throw timeout.aborted ? new MailError('ETIMEDOUT', false) : mailErrorOf(error);
    } finally {
      transport.close();
    }
  }
}

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
    // If the configuration accepts plaintext, accept TLS with any certificate too (opportunistic security, RFC 7435).
    ...(secure || requireTLS ? {} : { tls: { rejectUnauthorized: false } }),
    ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    // Mail content must never be read from a file or URL.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function checkHeader(texts: readonly string[]): void {
  if (texts.some((text) => CONTROL.test(text))) throw new MailError('EHEADER', true);
}

/**
 * Converts an error of nodemailer to a `MailError`. A failure is final if the server has permanently rejected the
 * recipient or the mail. Wrong credentials and certificates are not final, because an operator can fix them.
 */
function mailErrorOf(error: unknown): MailError {
  const { code = 'EUNKNOWN', responseCode } = error as { readonly code?: string; readonly responseCode?: number };
  const concernsMail = code === 'EENVELOPE' || code === 'EMESSAGE';
  const isFinal = concernsMail && responseCode !== undefined && responseCode >= 500;
  return new MailError(responseCode === undefined ? code : `${code} ${responseCode}`, isFinal);
}
