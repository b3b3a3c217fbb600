/** The QR code for authenticator apps. */
import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { qrModules } from '../../src/panel/profile/qr-modules.js';

const QUIET = 4;

it('a text has the same modules as in qrencode, with a quiet zone around them', () => {
  const modules = qrModules('Trailgate') ?? [];
  const inner = modules.slice(QUIET, -QUIET).map((row) => row.slice(QUIET, -QUIET).map(Number).join(''));
  // The hash of the output of `qrencode -l L -m 0 -8` 4.1.1. zbarimg reads the text back.
  const hash = createHash('sha256').update(inner.join('\n')).digest('base64url').slice(0, 22);
  expect([modules.length, inner.length, hash]).toEqual([29, 21, 'a3jntrzYaFlIZBLTZ6pmph']);
  expect(modules.slice(0, QUIET).flat()).not.toContain(true);
});

it('a text that is too long for the largest supported size has no QR code', () => {
  expect(qrModules('a'.repeat(858))).toHaveLength(97 + 2 * QUIET);
  expect(qrModules('a'.repeat(859))).toBeNull();
});
