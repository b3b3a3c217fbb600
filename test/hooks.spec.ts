/**
 * The git hooks of `npm run hooks` reject what `npm run check` would reject, and long commit subjects. They print a
 * remedy.
 */
import { beforeAll, expect, it } from '@jest/globals';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describeWithGit } from './support/describe-with.js';
import { makeSmallProject, type SmallProject } from './support/small-project.js';

const GOOD = `/** A constant. */\nexport const ANSWER = 42;\n`;
const BADLY_FORMATTED = `/** A constant. */\nexport const   ANSWER = 42\n`;
const WRONG_TYPE = `/** A constant. */\nexport const ANSWER: string = 42;\n`;
const LINT = `/** A constant. */\nexport const ANSWER: any = 42;\n`;

describeWithGit('the pre-commit hook', () => {
  let project: SmallProject;
  const git = (...args: readonly string[]) => project.run('git', ...args);
  const commit = async (text: string) => {
    project.write({ 'src/answer.ts': text });
    await git('add', '-A');
    return git('commit', '-m', 'A change');
  };

  beforeAll(async () => {
    project = makeSmallProject({
      'src/main.ts': GOOD,
      'src/panel/tsconfig.json': readFileSync('src/panel/tsconfig.json', 'utf8'),
      'src/panel/main.ts': GOOD,
      // This small project cannot generate the types of the admin API, which would need the whole program.
      'scripts/panel/types.mjs': '',
    });
    await git('init', '-q');
    await git('add', '-A');
    const { code, output } = await git('commit', '-q', '-m', 'What is there');
    if (code !== 0) throw new Error(output);
  });

  it('is not turned on by npm ci, which changes no setting of git', async () => {
    const bare = makeSmallProject({});
    // Creates a project without packages. npm ci still runs all scripts of an installation.
    rmSync(join(bare.folder, 'node_modules'), { recursive: true });
    const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as object;
    const { name, version, scripts } = manifest as Record<string, unknown>;
    const root = { name, version };
    bare.write({
      'package.json': JSON.stringify({ ...root, scripts }),
      'package-lock.json': JSON.stringify({ ...root, lockfileVersion: 3, packages: { '': root } }),
    });
    await bare.run('git', 'init', '-q');
    const settings = async () => (await bare.run('git', 'config', '--list')).output;
    const before = await settings();
    expect(before).toContain('core.bare=false');
    expect(await bare.run('npm', 'ci', '--offline', '--omit=optional')).toMatchObject({ code: 0 });
    expect(await settings()).toBe(before);
  });

  it('is off until npm run hooks turns it on', async () => {
    expect((await git('config', 'core.hooksPath')).output).toBe('');
    const { code } = await project.run('npm', 'run', '-s', 'hooks');
    expect([code, (await git('config', 'core.hooksPath')).output.trim()]).toEqual([0, '.githooks']);
  });

  it.each([
    ['a badly formatted file', BADLY_FORMATTED, 'Run: npm run fmt'],
    ['what lint finds', LINT, 'no-explicit-any'],
    ['a wrong type', WRONG_TYPE, 'src/answer.ts(2,14)'],
  ])('rejects %s, with an error that helps', async (_what, text, words) => {
    const { code, output } = await commit(text);
    expect([code, output]).toEqual([1, expect.stringContaining(words)]);
  });

  it('accepts a good file', async () => {
    const { code, output } = await commit(GOOD);
    expect([code, output]).toEqual([0, expect.stringContaining('1 file changed')]);
  });

  it('checks the staged content, not later changes to the file', async () => {
    project.write({ 'src/answer.ts': BADLY_FORMATTED });
    await git('add', '-A');
    project.write({ 'src/answer.ts': GOOD.replace('42', '43') });
    expect((await git('commit', '-m', 'A change')).code).toBe(1);
  });

  it('accepts a deleted file and a new documentation page', async () => {
    await git('add', '-A');
    await git('commit', '-q', '-m', 'A change');
    project.write({ 'docs/page.md': '#  A page\n' });
    await git('add', '-A');
    await git('rm', '-q', '--cached', 'src/answer.ts');
    const { code, output } = await git('commit', '-m', 'A change');
    expect([code, output]).toEqual([0, expect.stringContaining('2 files changed')]);
  });

  it('limits the commit subject to 72 characters, but not the body', async () => {
    const subject = 'é'.repeat(72);
    const tooLong = await git('commit', '--allow-empty', '-m', `${subject}!`);
    expect([tooLong.code, tooLong.output]).toEqual([1, expect.stringContaining('73 characters; at most 72')]);
    expect((await git('commit', '--allow-empty', '-m', subject, '-m', 'A body. '.repeat(20))).code).toBe(0);
  });
});
