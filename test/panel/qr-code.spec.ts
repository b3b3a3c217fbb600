/** The picture that an authenticator app scans, made without sending its secret anywhere. */
import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { qrCode } from '../../src/panel/profile/qr-code.js';

const uriOf = (name: string): string =>
  `otpauth://totp/Trailgate%20(localhost)%3A8081:${name}?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP` +
  '&issuer=Trailgate%20(localhost)';

// Hashes of what `qrencode -l L -m 0 -8` 4.1.1 draws of the same text; zbarimg reads the text back.
it.each([
  ['a short text', 'Trailgate', 21, 'a3jntrzYaFlIZBLTZ6pmph'],
  ['an address', uriOf('ana%40example.com'), 41, 'FsnP9CfGF6UTXK9_2okgl-'],
  ['the address of a very long name', uriOf('a'.repeat(300)), 69, 'k0Lw8rY6Vh1osWNr8TwJp1'],
])('draws %s as another program does, to the module', (_title, text, width, hash) => {
  const rows = (qrCode(text) ?? []).map((row) => row.map(Number).join(''));
  expect(rows).toHaveLength(width);
  expect(createHash('sha256').update(rows.join('\n')).digest('base64url').slice(0, 22)).toBe(hash);
});

it('draws nothing of what no picture of a usual size holds', () => {
  expect(qrCode('a'.repeat(858))).toHaveLength(97);
  expect(qrCode('a'.repeat(859))).toBeNull();
});
