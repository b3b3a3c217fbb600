/** The text of mails. */
import { expect, it } from '@jest/globals';
import { messageOf, type MailContent } from './messages.js';
import { MESSAGE_TEXTS } from './message-texts.js';

const CHANGES = [
  'totp_added',
  'totp_removed',
  'recovery_codes_replaced',
  'passkey_added',
  'passkey_removed',
  'password_changed',
  'sign_in_reset',
] as const;
const to = { name: 'Ana', address: 'ana@example.com' };
const link = 'https://admin.example.com/link#token';
const endsMs = Date.parse('2026-11-29T18:30:00Z');
const invitation = { kind: 'invitation', accountName: 'Isar Rafting', invitedBy: 'Bea', role: 'admin' } as const;

it('an invitation names account, inviter, role and expiry, and has the link on its own line', () => {
  const { subject, text } = messageOf({ to, locale: 'en', content: invitation, link, endsMs });
  expect(subject).toBe('You are invited to Isar Rafting');
  expect(text).toContain('Bea invited you to join the account Isar Rafting as administrator.');
  expect(text).toContain(`\n${link}\n`);
  expect(text).toContain('until November 29, 2026 at 6:30');
});

it('a password reset mail says that ignoring it changes nothing, and has the link and its expiry', () => {
  const { subject, text } = messageOf({ to, locale: 'es', content: { kind: 'password_reset' }, link, endsMs });
  expect(subject).toBe('Elija una contraseña nueva');
  expect(text).toContain('Su contraseña no cambia');
  expect(text).toContain('29 de noviembre de 2026');
  expect(text).toContain(`\n${link}\n`);
});

const changed = {
  kind: 'sign_in_changed',
  change: 'passkey_removed',
  by: 'member',
  name: 'Yubi',
  atMs: endsMs,
} as const;

it('a notice names the change, its time and author, and links to the settings', () => {
  const at = 'https://admin.example.com/profile';
  const read = (content: MailContent, locale: 'en' | 'es') =>
    messageOf({ to, locale, content, link: at, endsMs: null });
  const { subject, text } = read({ ...changed, change: 'totp_removed', by: 'operator' }, 'en');
  expect(subject).toBe('Your authenticator app was removed');
  expect(text).toContain('for the sign-in of ana@example.com, on November 29, 2026 at 6:30');
  expect(text).toContain('UTC, by an operator.');
  expect(text).toContain(`\n${at}\n`);
  const own = read({ ...changed, name: 'Yubi\r\nhttps://evil.example' }, 'es');
  expect(own.text).toContain('Se ha quitado la llave de acceso «Yubi https evil.example», para el acceso de');
  expect(own.text).not.toContain('operador');
});

it.each([
  ['en', 'Removed with it: the passkey “Yubi https evil.example”, the linked sign-in ana@id.example.'],
  ['es', 'También se ha quitado: la llave de acceso «Yubi https evil.example», el acceso vinculado ana@id.example.'],
] as const)('a notice of a reset names every factor that the reset removed (%s)', (locale, sentence) => {
  const removed = [
    { type: 'passkey', name: 'Yubi\nhttps://evil.example' },
    { type: 'identity', name: 'ana@id.example' },
  ] as const;
  const content = { ...changed, change: 'password_changed', removed } as const;
  expect(messageOf({ to, locale, content, link, endsMs: null }).text).toContain(`\n${sentence}\n`);
});

const disabled = {
  kind: 'webhook_disabled',
  accountId: 'acc_1',
  accountName: 'Isar Rafting',
  endpointId: 'whe_1',
  host: 'hooks.example.com',
  reason: 'failing',
} as const;

it('a mail about a disabled webhook endpoint names it and the reason, and links to it', () => {
  const at = 'https://admin.example.com/acc_1/webhooks/whe_1';
  const { subject, text } = messageOf({ to, locale: 'en', content: disabled, link: at, endsMs: null });
  expect(subject).toBe('A webhook endpoint was disabled');
  expect(text).toContain('The webhook endpoint of Isar Rafting at hooks.example.com was disabled after five days');
  expect(text).toContain('kept for 30 days');
  expect(text).toContain(`\n${at}\n`);
  const gone = messageOf({ to, locale: 'es', content: { ...disabled, reason: 'gone' }, link: at, endsMs: null });
  expect(gone.text).toContain('hooks.example.com ha respondido con 410');
});

it('every text exists in every language, and no two are equal', () => {
  const locales = Object.keys(MESSAGE_TEXTS) as (keyof typeof MESSAGE_TEXTS)[];
  expect(locales).toEqual(['en', 'es']);
  const texts = locales.flatMap((locale) =>
    [
      invitation,
      disabled,
      { kind: 'password_reset' } as const,
      { kind: 'email_verification' } as const,
      ...CHANGES.map((change) => ({ ...changed, change })),
    ].map((content) => messageOf({ to, locale, content, link, endsMs })),
  );
  expect(new Set(texts.flatMap(({ subject, text }) => [subject, text])).size).toBe(4 * (4 + CHANGES.length));
});

it.each([
  ['a line break', 'Isar\r\nBcc: evil@example.com', 'Isar Bcc: evil@example.com'],
  ['marks that turn the line around', 'Isar\u202egnitfaR\u2066', 'Isar gnitfaR'],
  ['a link', 'https://evil.example/ www.evil.example', 'https evil.example/ evil.example'],
  ['a thousand characters', 'é'.repeat(1_000), 'é'.repeat(100)],
])('%s in an account name is sanitized', (_what, accountName, shown) => {
  const { subject, text } = messageOf({ to, locale: 'en', content: { ...invitation, accountName }, link, endsMs });
  expect(subject).toBe(`You are invited to ${shown}`);
  expect(text).toContain(`the account ${shown} as`);
});
