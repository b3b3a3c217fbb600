import { expect, it } from '@jest/globals';
import { VERSION } from '../../platform/version.js';
import { OLDEST_VERSION } from './migrations.js';
import { isOlder } from './migrator.js';

it.each([
  ['0.1.0', '0.1.1', true],
  ['0.1.9', '0.1.10', true],
  ['0.9.0', '0.10.0', true],
  ['0.9.9', '1.0.0', true],
  ['0.1.0', '0.1.0', false],
  ['0.2.0', '0.1.9', false],
  ['1.0.0', '0.9.9', false],
])('version %s is older than %s: %s', (version, other, expected) => {
  expect(isOlder(version, other)).toBe(expected);
});

it('OLDEST_VERSION is not newer than the previous minor version', () => {
  const [major = 0, minor = 0] = VERSION.split('.').map(Number);
  // Before a new major version comes the last minor version of the old one, whose number is not known here.
  const previous = minor > 1 ? `${major}.${minor - 1}.0` : `${major}.${minor}.0`;
  expect(isOlder(previous, OLDEST_VERSION)).toBe(false);
});
