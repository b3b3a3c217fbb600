/** Starts a real mail server (`smtp-server`) in its own process. */
import { createInterface } from 'node:readline';
import { eventually, spawnOwned } from './processes.js';

const PROGRAM = 'test/support/smtp-server.mjs';

/** Behavior of the mail server. By default, it accepts every mail. */
export interface SmtpOptions {
  /** Paths of the certificate and its key, in PEM format. */
  readonly cert?: string;
  readonly key?: string;
  /** Uses TLS from the first byte, instead of STARTTLS. */
  readonly secure?: boolean;
  /** Does not offer STARTTLS. */
  readonly plain?: boolean;
  /** Requires sign-in with these credentials. */
  readonly auth?: { readonly user: string; readonly password: string };
  /** Refuses every recipient with this code. */
  readonly refuse?: number;
  /** Accepts connections, but never greets. */
  readonly silent?: boolean;
  /** Receives mails and never confirms them. */
  readonly unconfirmed?: boolean;
}

/** ReceivedMail is a mail that the server has received. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly isSecure: boolean;
  readonly user: string | null;
  /** Head and body as received. */
  readonly source: string;
}

export interface SmtpServer {
  readonly port: number;
  /** Mails received so far. */
  readonly mails: readonly ReceivedMail[];
  stop(): Promise<void>;
}

/** Starts the server on a free port of 127.0.0.1. The caller must stop it. */
export async function startSmtp(options: SmtpOptions = {}): Promise<SmtpServer> {
  const server = spawnOwned(process.execPath, [PROGRAM, JSON.stringify(options)]);
  const lines: string[] = [];
  if (server.child.stdout !== null) {
    createInterface({ input: server.child.stdout }).on('line', (line) => lines.push(line));
  }
  await eventually('the mail server listens', () => {
    if (!server.isRunning()) throw new Error('the mail server ended before it listened');
    return lines.length > 0;
  });
  const { port } = JSON.parse(lines[0] ?? '{}') as { port: number };
  return {
    port,
    get mails() {
      return lines.slice(1).map((line) => JSON.parse(line) as ReceivedMail);
    },
    stop: async () => void (await server.end('SIGTERM')),
  };
}

/** Returns a header field of a mail, unfolded. Undefined if the mail does not have it. */
export function headerOf({ source }: ReceivedMail, name: string): string | undefined {
  const [head = ''] = source.split('\r\n\r\n', 1);
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
  const line = lines.find((text) => text.toLowerCase().startsWith(`${name.toLowerCase()}:`));
  return line?.slice(name.length + 1).trim();
}

/** Returns the decoded text of a mail with a single part. */
export function textOf(mail: ReceivedMail): string {
  const body = mail.source.slice(mail.source.indexOf('\r\n\r\n') + 4);
  switch (headerOf(mail, 'Content-Transfer-Encoding')?.toLowerCase()) {
    case 'base64':
      return Buffer.from(body, 'base64').toString();
    case 'quoted-printable':
      return Buffer.from(
        body
          .replaceAll(/=\r\n/g, '')
          .replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
        'latin1',
      ).toString();
    default:
      return body;
  }
}

/** Decodes the encoded words of a header field (RFC 2047), in UTF-8. */
export function decodedHeader(text: string): string {
  return text
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_all, coding: string, coded: string) => {
      if (coding.toLowerCase() === 'b') return Buffer.from(coded, 'base64').toString();
      const bytes = coded
        .replaceAll('_', ' ')
        .replaceAll(/=([0-9A-F]{2})/gi, (_one, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
      return Buffer.from(bytes, 'latin1').toString();
    });
}
