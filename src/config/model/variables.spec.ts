/** Variables with the suffix _FILE, as used for mounted secrets, and errors about their files. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI, problemsOf } from '../../../test/support/config-files.js';
import { readClientEnvironment } from '../client-environment.js';
import { readEnvironment } from './environment.js';
import { readVariable } from './variables.js';

const TOKEN = 'operator-token-of-the-tests-0123456789';
const folder = mkdtempSync(join(tmpdir(), 'variables-'));

function fileWith(text: string): string {
  const file = join(mkdtempSync(join(folder, 'secret-')), 'value');
  writeFileSync(file, text);
  return file;
}

describe('a variable with the suffix _FILE', () => {
  it('reads the value from the file, without a final line break', () => {
    for (const text of [TOKEN, `${TOKEN}\n`, `${TOKEN}\r\n`]) {
      const variables = { TRAILGATE_ADMIN_TOKEN_FILE: fileWith(text) };
      expect(readEnvironment(variables).adminToken).toBe(TOKEN);
      expect(readClientEnvironment(variables).adminToken).toBe(TOKEN);
    }
    expect(readVariable({ A_FILE: fileWith(' two\nlines \n') }, 'A')).toBe(' two\nlines ');
  });

  it('is ignored if it is empty, and used if the variable itself is empty', () => {
    expect(readVariable({ A: 'value', A_FILE: '' }, 'A')).toBe('value');
    expect(readVariable({ A: '', A_FILE: fileWith('value') }, 'A')).toBe('value');
    expect(readVariable({ A_FILE: ' ' }, 'A')).toBeUndefined();
  });

  it('is rejected if both are set, or if the file is empty, missing or a folder', () => {
    const [value, empty] = [fileWith('value'), fileWith('\n')];
    const cases = [
      [{ A: 'value', A_FILE: value }, 'A and A_FILE are both set'],
      [{ A_FILE: empty }, `A_FILE: ${empty} is empty`],
      [{ A_FILE: '/nowhere' }, 'A_FILE: /nowhere cannot be read (ENOENT)'],
      [{ A_FILE: folder }, `A_FILE: ${folder} cannot be read (EISDIR)`],
    ] as const;
    for (const [variables, message] of cases) expect(() => readVariable(variables, 'A')).toThrow(message);
  });

  it('works in references of gateway.yaml, where an unreadable file is a problem', async () => {
    const files = { 'gateway.yaml': `${MINIMAL}\nadmin: { host: "\${ADMIN_HOST}" }`, 'customers.yaml': OPENAPI };
    const config = await configOf(files, { ADMIN_HOST_FILE: fileWith('127.0.0.2\n') });
    expect(config.file.admin.host).toBe('127.0.0.2');
    const problems = await problemsOf(files, { ADMIN_HOST_FILE: '/nowhere' });
    expect(problems.map(({ message }) => message)).toEqual(['ADMIN_HOST_FILE: /nowhere cannot be read (ENOENT)']);
  });

  it('that cannot be read is reported together with other invalid variables', () => {
    const variables = { DATABASE_URL_FILE: '/nowhere', LOG_LEVEL: 'loud' };
    expect(() => readEnvironment(variables)).toThrow(
      /^LOG_LEVEL must be one of .*\nDATABASE_URL_FILE: \/nowhere cannot be read \(ENOENT\)\.$/,
    );
  });
});
