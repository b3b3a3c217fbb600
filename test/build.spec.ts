/** `dist/` is built when its sources have changed, and a running program can still load its files. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, globSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, type OwnedProcess } from './support/processes.js';
import { makeSmallProject, type SmallProject } from './support/small-project.js';

/** A program that loads a second file on a signal, and runs until it is stopped. */
const MAIN = `
console.log('running', process.argv[2]);
const parent = process.ppid;
// npm does not forward every signal, so the program exits when its parent has gone.
setInterval(() => process.ppid !== parent && process.exit(), 100);
process.once('SIGUSR2', async () => {
  const { LATER } = await import('./later.js');
  console.log('later:', LATER);
});
`;
const later = (text: string): string => `export const LATER = '${text}';\n`;

let project: SmallProject;
const built = (name = 'later.js'): string => join(project.folder, 'dist', name);
/** Returns the inode of `dist/`. It changes when the folder is replaced. */
const identity = (): number => statSync(join(project.folder, 'dist')).ino;
const at = () => ({ cwd: project.folder });
/** Folders of builds that are running or were killed. */
const WORK = '.build/build-*';
const leftOvers = (): string[] => globSync(WORK, at());
const build = () => project.run(process.execPath, 'scripts/build.mjs', '--if-stale');

beforeEach(() => {
  project = makeSmallProject({ 'src/main.ts': MAIN, 'src/later.ts': later('first') });
});

async function printed(program: OwnedProcess, words: string): Promise<void> {
  let output = '';
  program.child.stdout?.on('data', (chunk) => (output += String(chunk)));
  await eventually(`the program prints ${words}`, () => {
    if (!program.isRunning()) throw new Error(`the program ended: ${output}`);
    return output.includes(words);
  });
}

describe('npm start', () => {
  it('builds a missing dist/ once, and does not build again while the sources are unchanged', async () => {
    const first = project.start('npm', 'start');
    await printed(first, 'running demo');
    const before = identity();
    const second = project.start('npm', 'start');
    await printed(second, 'running demo');
    expect(identity()).toBe(before);
    await Promise.all([first, second].map((program) => program.end('SIGTERM')));
  });

  it('keeps files that a running program loads later', async () => {
    expect(await build()).toEqual({ code: 0, output: '' });
    const running = project.start(process.execPath, 'dist/main.js', 'first');
    await printed(running, 'running first');
    expect((await build()).code).toBe(0);
    running.child.kill('SIGUSR2');
    await printed(running, 'later: first');
    await running.end('SIGKILL');
  });
});

describe('npm run dev', () => {
  it('rebuilds and restarts on a change, and another program can still load its old files', async () => {
    await build();
    const other = project.start(process.execPath, 'dist/main.js', 'other');
    await printed(other, 'running other');
    const dev = project.start('npm', 'run', 'dev');
    let output = '';
    for (const stream of [dev.child.stdout, dev.child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
    const runs = () => output.split('running demo').length - 1;
    await eventually('the program runs', () => runs() === 1);
    const before = identity();
    project.write({ 'src/later.ts': 'export const LATER = ;\n' });
    await eventually('the build fails', () => output.includes('later.ts'));
    expect([runs(), identity()]).toEqual([1, before]);
    project.write({ 'src/later.ts': later('second') });
    await eventually('the program runs again', () => runs() === 2);
    expect(readFileSync(built(), 'utf8')).toContain('second');
    other.child.kill('SIGUSR2');
    await printed(other, 'later: first');
    await Promise.all([dev.end('SIGTERM'), other.end('SIGKILL')]);
  });
});

describe('a build', () => {
  it('bundles files that are always loaded into one file, with a source map', async () => {
    const [direct, lazy] = ['export const DIRECT = "direct";\n', later('first')];
    const main = `import { DIRECT } from './direct.js';\nconsole.log(DIRECT);\n${MAIN}throw new Error('in main.ts');\n`;
    project.write({ 'src/main.ts': main, 'src/direct.ts': direct, 'src/later.ts': lazy });
    await build();
    const bundled = globSync('dist/bundled/*.js', at()).toSorted();
    expect(bundled).toEqual([expect.stringMatching(/later-[\w-]+\.js$/), 'dist/bundled/main.js']);
    const ended = await project.run(process.execPath, '--enable-source-maps', 'dist/main.js');
    expect(ended).toEqual({ code: 1, output: expect.stringMatching(/src\/main\.ts:\d+/) });
    expect(ended.output).toContain('direct\nrunning');
  });

  it.each([
    ['a changed source', { 'src/later.ts': later('second') }],
    ['a setting of the compiler', { '.swcrc': readFileSync('.swcrc', 'utf8').replace('es2023', 'es2022') }],
  ])('is done again after %s', async (_what, files) => {
    await build();
    const before = identity();
    project.write(files);
    expect((await build()).code).toBe(0);
    expect(identity()).not.toBe(before);
    expect(leftOvers()).toEqual([]);
  });

  it('is done again after a source was deleted, but not after a change to a test', async () => {
    project.write({ 'src/extra.ts': later('extra') });
    await build();
    const before = identity();
    project.write({ 'src/later.spec.ts': later('test') });
    await build();
    expect(identity()).toBe(before);
    rmSync(join(project.folder, 'src/extra.ts'));
    await build();
    expect([existsSync(built()), existsSync(built('extra.js'))]).toEqual([true, false]);
  });

  it('replaces dist/ without files of earlier builds, except the last bundle for running programs', async () => {
    const chunks = (): string[] => globSync('dist/bundled/later-*.js', at());
    await build();
    const [first = ''] = chunks();
    writeFileSync(built('stale.js'), '');
    writeFileSync(built('bundled/stale.js.map'), '');
    project.write({ 'src/later.ts': later('second') });
    await build();
    expect([existsSync(built('stale.js')), existsSync(built('bundled/stale.js.map'))]).toEqual([false, false]);
    const second = chunks().find((name) => name !== first);
    expect(chunks().toSorted()).toEqual([first, second].toSorted());
    // Makes the first bundle look an hour older. The next build deletes it, because later files are newer by over a
    // minute.
    const hourAgo = Date.now() / 1_000 - 3_600;
    utimesSync(join(project.folder, first), hourAgo, hourAgo);
    project.write({ 'src/later.ts': later('third') });
    await build();
    expect(chunks()).toHaveLength(2);
    expect(chunks()).toContain(second);
    expect(chunks()).not.toContain(first);
  });

  it('is done once by three concurrent starts, and each finds it complete', async () => {
    await build();
    project.write({ 'src/later.ts': later('second') });
    const racing = [0, 1, 2].map(async () => {
      const { code, output } = await build();
      return { code, output, text: readFileSync(built(), 'utf8').includes('second'), identity: identity() };
    });
    const ended = await Promise.all(racing);
    expect(new Set(ended.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(ended[0]).toMatchObject({ code: 0, output: '', text: true });
    expect(leftOvers()).toEqual([]);
  });

  it('that is killed keeps the previous files, and the next build succeeds', async () => {
    const many = Array.from({ length: 1_000 }, (_each, index) => [`src/many/m${index}.ts`, later('one of many')]);
    project.write(Object.fromEntries(many));
    await build();
    let before = readFileSync(built(), 'utf8');
    // Repeats until a build is killed before it finishes.
    for (let round = 1, isKilled = false; !isKilled; round++) {
      before = readFileSync(built(), 'utf8');
      project.write({ 'src/later.ts': later(`round ${round}`) });
      const killed = project.start(process.execPath, 'scripts/build.mjs', '--if-stale');
      await eventually(
        'the build writes compiled files or ends',
        () => !killed.isRunning() || globSync(`${WORK}/*/main.js`, at()).length > 0,
      );
      isKilled = (await killed.end('SIGKILL')).signal === 'SIGKILL';
    }
    expect(readFileSync(built(), 'utf8')).toBe(before);
    expect(await build()).toEqual({ code: 0, output: '' });
    expect(readFileSync(built(), 'utf8')).not.toBe(before);
    expect(leftOvers()).toEqual([]);
  });

  it('creates dist/ again if a killed build left none', async () => {
    await build();
    rmSync(join(project.folder, 'dist'), { recursive: true });
    expect((await build()).code).toBe(0);
    expect(existsSync(built())).toBe(true);
  });

  it('that fails names the file, and keeps the previous files', async () => {
    await build();
    project.write({ 'src/later.ts': 'export const LATER = ;\n' });
    const { code, output } = await build();
    expect([code, output]).toEqual([1, expect.stringContaining('later.ts')]);
    expect(readFileSync(built(), 'utf8')).toContain('first');
    expect(leftOvers()).toEqual([]);
  });
});

describe('the panel', () => {
  const page = (text: string): Record<string, string> => ({
    'src/panel/index.html': '<!doctype html><script type="module" src="/main.ts"></script>\n',
    'src/panel/main.ts': `document.title = '${text}';\n`,
  });
  const scripts = (): string[] => globSync('dist/panel/assets/*.js', at()).toSorted();

  it('is built and compressed with the program, and again only when its own sources change', async () => {
    project.write(page('first'));
    expect(await build()).toEqual({ code: 0, output: '' });
    const [first] = scripts();
    expect(readFileSync(join(project.folder, first ?? ''), 'utf8')).toContain('first');
    expect(globSync('dist/panel/assets/*.js.{br,gz}', at())).toHaveLength(2);
    expect(existsSync(built('panel/main.js'))).toBe(false);
    writeFileSync(built('panel/mark'), 'taken over');
    project.write({ 'src/later.ts': later('second') });
    await build();
    expect([scripts(), existsSync(built('panel/mark'))]).toEqual([[first], true]);
    project.write(page('second'));
    await build();
    expect([scripts().length, existsSync(built('panel/mark'))]).toEqual([1, false]);
    expect(scripts()).not.toEqual([first]);
  });

  it('whose build fails keeps the previous files, and the error names the file', async () => {
    project.write(page('first'));
    await build();
    const before = identity();
    project.write({ 'src/panel/main.ts': 'export const = 1;\n' });
    const { code, output } = await build();
    expect([code, output]).toEqual([1, expect.stringContaining('main.ts')]);
    expect(identity()).toBe(before);
    expect(leftOvers()).toEqual([]);
  });
});
