/** Email addresses that settings accept. */
import { expect, it } from '@jest/globals';
import { emailAddress } from './mail-values.js';

it.each(['ana@example.com', 'ana.o-brien+booking@mail.example.co.uk', `${'a'.repeat(64)}@example.com`])(
  'accepts %s',
  (text) => expect(emailAddress.safeParse(text).success).toBe(true),
);

it.each([
  'ana',
  'ana@example',
  '@example.com',
  'ana@example.com\r\nBcc: eve@example.com',
  'ana@exa mple.com',
  // RFC 5321 section 4.5.3.1: 64 before the @, 254 in all.
  `${'a'.repeat(65)}@example.com`,
  `a@${'b'.repeat(250)}.com`,
])('refuses %j', (text) => expect(emailAddress.safeParse(text).success).toBe(false));
