/** A real mail server as a process of its own (`smtp-server`). */
import { createInterface } from 'node:readline';
import { eventually, spawnOwned } from './processes.js';

const PROGRAM = 'test/support/smtp-server.mjs';

/** How it behaves; without anything it takes every mail over plain connections. */
export interface SmtpOptions {
  readonly cert?: string;
  readonly key?: string;
  /** TLS from the first byte; else STARTTLS where there is a certificate. */
  readonly secure?: boolean;
  /** Offers no STARTTLS. */
  readonly plain?: boolean;
  readonly auth?: { readonly user: string; readonly password: string };
  /** Refuses every recipient with this code. */
  readonly refuse?: number;
  /** Takes connections and never greets. */
  readonly silent?: boolean;
  /** Receives mails and never confirms them. */
  readonly unconfirmed?: boolean;
}

/** A mail that it has taken. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly isSecure: boolean;
  readonly user: string | null;
  /** Head and body as they came. */
  readonly source: string;
}

export interface SmtpServer {
  readonly port: number;
  /** So far. */
  readonly mails: readonly ReceivedMail[];
  stop(): Promise<void>;
}

/** Starts it on a free port of 127.0.0.1. The caller stops it. */
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

/** A header field of a mail, unfolded; undefined where it has none. */
export function headerOf({ source }: ReceivedMail, name: string): string | undefined {
  const [head = ''] = source.split('\r\n\r\n', 1);
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
  const line = lines.find((text) => text.toLowerCase().startsWith(`${name.toLowerCase()}:`));
  return line?.slice(name.length + 1).trim();
}

/** The text of a mail with one part, decoded. */
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

/** A header text as people read it (RFC 2047). */
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
