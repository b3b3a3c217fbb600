/** The secrets key is created once in the data folder, but never where other machines could not read it. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newSecretsKey } from './secret-box.js';
import { openSecretBox, secretsKeyFile } from './secrets-key.js';

const SECRET = Buffer.from('a secret of a member');
const ROW = 'member:mem_1';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secrets-key-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the box for secrets', () => {
  it('uses a key that is created once, readable by its owner only, even if processes start together', async () => {
    const boxes = await Promise.all(Array.from({ length: 5 }, () => openSecretBox(folder, undefined, true)));
    const sealed = boxes[0]?.seal(SECRET, ROW) ?? '';
    for (const box of boxes) expect(box?.open(sealed, ROW)).toEqual(SECRET);
    expect(statSync(secretsKeyFile(folder)).mode & 0o777).toBe(0o600);
    expect((await openSecretBox(folder, undefined, true))?.open(sealed, ROW)).toEqual(SECRET);
    const inEnvironment = readFileSync(secretsKeyFile(folder), 'utf8').trim();
    expect((await openSecretBox(join(folder, 'elsewhere'), inEnvironment, false))?.open(sealed, ROW)).toEqual(SECRET);
  });

  it('is null for a shared database without a key, and no key is created', async () => {
    expect(await openSecretBox(folder, undefined, false)).toBeNull();
    expect(() => statSync(secretsKeyFile(folder))).toThrow('ENOENT');
    expect(await openSecretBox(folder, newSecretsKey(), false)).not.toBeNull();
  });

  it.each([
    ['empty, as a power cut between making and writing it leaves it', ''],
    ['of another length', 'c2hvcnQ=\n'],
  ])('is not opened with a file that is %s, and the error says what to do', async (_what, text) => {
    writeFileSync(secretsKeyFile(folder), text);
    await expect(openSecretBox(folder, undefined, true)).rejects.toThrow(/secrets-key does not hold a key .*delete/);
  });
});
