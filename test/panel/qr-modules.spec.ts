/** The picture that an authenticator app scans. */
import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { qrModules } from '../../src/panel/profile/qr-modules.js';

const QUIET = 4;

it('a text is drawn as another program draws it, to the module, with light around it', () => {
  const modules = qrModules('Trailgate') ?? [];
  const inner = modules.slice(QUIET, -QUIET).map((row) => row.slice(QUIET, -QUIET).map(Number).join(''));
  // The hash of what `qrencode -l L -m 0 -8` 4.1.1 draws; zbarimg reads the text back.
  const hash = createHash('sha256').update(inner.join('\n')).digest('base64url').slice(0, 22);
  expect([modules.length, inner.length, hash]).toEqual([29, 21, 'a3jntrzYaFlIZBLTZ6pmph']);
  expect(modules.slice(0, QUIET).flat()).not.toContain(true);
});

it('nothing is drawn of what no picture of a usual size holds', () => {
  expect(qrModules('a'.repeat(858))).toHaveLength(97 + 2 * QUIET);
  expect(qrModules('a'.repeat(859))).toBeNull();
});
