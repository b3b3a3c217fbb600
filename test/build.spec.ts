/** `dist/` is built when its sources have changed, and never under a program that runs from it. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, type OwnedProcess } from './support/processes.js';
import { makeSmallProject, type SmallProject } from './support/small-project.js';

/** Loads the second file when it is told to, and runs until it is stopped. */
const MAIN = `
console.log('running', process.argv[2]);
const parent = process.ppid;
// npm does not hand every signal on: whoever started it has gone when its parent has.
setInterval(() => process.ppid !== parent && process.exit(), 100);
process.once('SIGUSR2', async () => {
  const { LATER } = await import('./later.js');
  console.log('later:', LATER);
});
`;
const later = (text: string): string => `export const LATER = '${text}';\n`;

let project: SmallProject;
const built = (name = 'later.js'): string => join(project.folder, 'dist', name);
/** Tells a folder that was put in its place anew from the one that was there before. */
const identity = (): number => statSync(join(project.folder, 'dist')).ino;
const at = () => ({ cwd: project.folder });
/** Folders of builds that are under way, or were killed. */
const WORK = '.build/build-*';
const leftOvers = (): string[] => globSync(WORK, at());
const build = () => project.run(process.execPath, 'scripts/build.mjs', '--if-stale');

beforeEach(() => {
  project = makeSmallProject({ 'src/main.ts': MAIN, 'src/later.ts': later('first') });
});

async function said(program: OwnedProcess, words: string): Promise<void> {
  let output = '';
  program.child.stdout?.on('data', (chunk) => (output += String(chunk)));
  await eventually(`the program says ${words}`, () => {
    if (!program.isRunning()) throw new Error(`it ended: ${output}`);
    return output.includes(words);
  });
}

describe('npm start', () => {
  it('builds what is not there, and nothing while the sources stay the same', async () => {
    const first = project.start('npm', 'start');
    await said(first, 'running demo');
    const before = identity();
    const second = project.start('npm', 'start');
    await said(second, 'running demo');
    expect(identity()).toBe(before);
    await Promise.all([first, second].map((program) => program.end('SIGTERM')));
  });

  it('leaves a running program what it loads later', async () => {
    expect(await build()).toEqual({ code: 0, output: '' });
    const running = project.start(process.execPath, 'dist/main.js', 'first');
    await said(running, 'running first');
    expect((await build()).code).toBe(0);
    running.child.kill('SIGUSR2');
    await said(running, 'later: first');
    await running.end('SIGKILL');
  });
});

describe('npm run dev', () => {
  it('builds and runs anew on a change, and another program goes on loading what it was built with', async () => {
    await build();
    const other = project.start(process.execPath, 'dist/main.js', 'other');
    await said(other, 'running other');
    const dev = project.start('npm', 'run', 'dev');
    let output = '';
    for (const stream of [dev.child.stdout, dev.child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
    const runs = () => output.split('running demo').length - 1;
    await eventually('it runs', () => runs() === 1);
    const before = identity();
    project.write({ 'src/later.ts': 'export const LATER = ;\n' });
    await eventually('the build fails', () => output.includes('later.ts'));
    expect([runs(), identity()]).toEqual([1, before]);
    project.write({ 'src/later.ts': later('second') });
    await eventually('it runs again', () => runs() === 2);
    expect(readFileSync(built(), 'utf8')).toContain('second');
    other.child.kill('SIGUSR2');
    await said(other, 'later: first');
    await Promise.all([dev.end('SIGTERM'), other.end('SIGKILL')]);
  });
});

describe('a build', () => {
  it('makes one file of what a program always loads, with a source map', async () => {
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
  ])('follows %s', async (_what, files) => {
    await build();
    const before = identity();
    project.write(files);
    expect((await build()).code).toBe(0);
    expect(identity()).not.toBe(before);
    expect(leftOvers()).toEqual([]);
  });

  it('follows a source that is gone, and not a test', async () => {
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

  it('is done once by starts that race, and each of them finds it whole', async () => {
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

  it('that is killed in the middle leaves what was there, and the next one builds', async () => {
    const many = Array.from({ length: 1_000 }, (_each, index) => [`src/many/m${index}.ts`, later('one of many')]);
    project.write(Object.fromEntries(many));
    await build();
    let before = readFileSync(built(), 'utf8');
    // One that was done before it could be killed does not count.
    for (let round = 1, isKilled = false; !isKilled; round++) {
      before = readFileSync(built(), 'utf8');
      project.write({ 'src/later.ts': later(`round ${round}`) });
      const killed = project.start(process.execPath, 'scripts/build.mjs', '--if-stale');
      await eventually('it compiles', () => !killed.isRunning() || globSync(`${WORK}/*/main.js`, at()).length > 0);
      isKilled = (await killed.end('SIGKILL')).signal === 'SIGKILL';
    }
    expect(readFileSync(built(), 'utf8')).toBe(before);
    expect(await build()).toEqual({ code: 0, output: '' });
    expect(readFileSync(built(), 'utf8')).not.toBe(before);
    expect(leftOvers()).toEqual([]);
  });

  it('that was killed between its two renames, so that there is nothing, is done again', async () => {
    await build();
    rmSync(join(project.folder, 'dist'), { recursive: true });
    expect((await build()).code).toBe(0);
    expect(existsSync(built())).toBe(true);
  });

  it('that fails says where, and leaves what was there', async () => {
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

  it('is built with the program, compressed, and again only when its own sources have changed', async () => {
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

  it('that cannot be built leaves what was there, and says where', async () => {
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
