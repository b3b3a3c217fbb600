/** SMTP options, and mails that are rejected before a server is contacted. */
import { describe, expect, it } from '@jest/globals';
import { MailError, SmtpMailer, smtpOptions } from './mailer.js';

const from = { name: 'Trailgate', address: 'no-reply@example.com' };
const settings = (url: string, requireTls = true) => ({ url, from, requireTls });

describe('smtpOptions', () => {
  it.each([
    ['smtps://mail.example.com', { host: 'mail.example.com', port: 465, secure: true, requireTLS: false }],
    ['smtp://mail.example.com', { port: 587, secure: false, requireTLS: true }],
    ['smtp://10.0.0.7:25', { host: '10.0.0.7', port: 25, requireTLS: true }],
    ['smtp://localhost:1025', { port: 1025, requireTLS: false, tls: { rejectUnauthorized: false } }],
    ['smtp://[::1]:1025', { host: '::1', requireTLS: false }],
    ['smtps://me%40x:a%23b%2F@h', { auth: { user: 'me@x', pass: 'a#b/' } }],
  ])('%s', (url, expected) => {
    expect(smtpOptions(settings(url))).toMatchObject({ ...expected, disableFileAccess: true, disableUrlAccess: true });
  });

  it('sends without TLS to other hosts only if the configuration allows it', () => {
    expect(smtpOptions(settings('smtp://relay:25', false)).requireTLS).toBe(false);
  });

  it.each(['smtps://mail.example.com', 'smtp://mail.example.com', 'smtps://localhost'])(
    'requires a trusted certificate for %s',
    (url) => {
      expect(smtpOptions(settings(url))).not.toHaveProperty('tls');
    },
  );
});

describe('a mail is rejected before a server is contacted', () => {
  const good = { to: { name: 'Ana', address: 'ana@example.com' }, subject: 'Hello', text: 'x', locale: 'en' };
  // No server listens here, so a mail that is sent fails with another code.
  const mailer = new SmtpMailer(settings('smtp://127.0.0.1:9'));

  it.each([
    ['a line break in the address', { to: { name: '', address: 'ana@example.com\r\nBcc: evil@example.com' } }],
    ['a line break in the name', { to: { name: 'Ana\r\nBcc: evil@example.com', address: 'ana@example.com' } }],
    ['a lone line feed in the name', { to: { name: 'Ana\nBcc: evil@example.com', address: 'ana@example.com' } }],
    ['a line break in the subject', { subject: 'Hello\r\nBcc: evil@example.com' }],
    ['a NUL in the name', { to: { name: 'A\0na', address: 'ana@example.com' } }],
    ['a line separator in the subject', { subject: 'Hello\u2028Bcc: evil@example.com' }],
    ['a line break in the language', { locale: 'en\r\nBcc: evil@example.com' }],
  ])('for %s', async (_what, change) => {
    await expect(mailer.send({ ...good, ...change })).rejects.toMatchObject({ code: 'EHEADER', isFinal: true });
  });

  it.each(['ana', 'ana@example.com, evil@example.com', 'ana@example.com;evil@example.com', '<ana@example.com>', ''])(
    'for the address %j',
    async (address) => {
      await expect(mailer.send({ ...good, to: { name: '', address } })).rejects.toMatchObject({ code: 'EADDRESS' });
    },
  );

  it('but not if it is valid: then only the server is missing', async () => {
    const failure = await mailer.send(good).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MailError);
    expect(failure).toMatchObject({ code: 'ESOCKET', isFinal: false });
  });
});
