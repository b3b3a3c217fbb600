/** Client commands reject bad input before they send anything, and their messages repeat no secret. */
import { describe, expect, it } from '@jest/globals';
import { Command } from 'commander';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readClientEnvironment } from '../../config/client-environment.js';
import { addClientCommands } from './client-commands.js';

/** Nothing listens at this address. */
const NOWHERE = 'http://127.0.0.1:1';

/** Lists the accounts as the program does, with these variables as the environment. */
async function listAccounts(variables: Record<string, string>) {
  const result = { out: '', err: '', code: 0 };
  const program = new Command('trailgate').exitOverride();
  addClientCommands(program, {
    environment: () => readClientEnvironment({ TRAILGATE_ADMIN_URL: NOWHERE, ...variables }),
    out: (text) => (result.out += text),
    err: (text) => (result.err += text),
    fail: (code) => (result.code = code),
  });
  await program.parseAsync(['accounts', 'list'], { from: 'user' });
  return result;
}

describe('a client command', () => {
  it.each([
    ['a token of two lines', 'TOKEN', { TRAILGATE_ADMIN_TOKEN: 'kept-one\nkept-two' }],
    ['a token with a space', 'TOKEN', { TRAILGATE_ADMIN_TOKEN: 'kept-one kept-two' }],
    ['a token with a letter that no header has', 'TOKEN', { TRAILGATE_ADMIN_TOKEN: 'kept-\u0151' }],
    [
      'a password in the URL',
      'URL',
      { TRAILGATE_ADMIN_URL: 'http://root:kept@127.0.0.1:1', TRAILGATE_ADMIN_TOKEN: 'x' },
    ],
    ['a name in the URL', 'URL', { TRAILGATE_ADMIN_URL: 'http://kept@127.0.0.1:1', TRAILGATE_ADMIN_TOKEN: 'x' }],
  ])('refuses %s, and does not repeat it', async (_what, name, variables) => {
    const { out, err, code } = await listAccounts(variables);
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).not.toMatch(/kept|root/);
    expect(err).toMatch(new RegExp(`^trailgate: [^\\n]*TRAILGATE_ADMIN_${name}[^\\n]*\\n$`));
  });

  it('refuses a token file of two lines, and says which file that is', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'trailgate-cli-'));
    const file = join(folder, 'admin-token');
    writeFileSync(file, 'kept-one\nkept-two\n');
    const { out, err, code } = await listAccounts({ TRAILGATE_DATA_DIR: folder });
    rmSync(folder, { recursive: true });
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).toMatch(/^trailgate: The operator token has [^\n]*\n$/);
    expect(err.replace(file, '')).not.toContain('kept');
    expect(err).toContain(`Check ${file}.`);
  });
});
