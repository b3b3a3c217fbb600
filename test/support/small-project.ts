/** A small project with this repository's settings and a few sources, in its own folder. For tests that use a clone. */
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { spawnOwned, temporaryFolder, type OwnedProcess } from './processes.js';

/** Files and folders of a clone, without its sources. */
const SETTINGS = [
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'nest-cli.json',
  '.swcrc',
  '.oxfmtrc.json',
  '.oxlintrc.json',
  '.gitignore',
  '.githooks',
  'scripts',
];

/** Exit code and output of a command. */
export interface Finished {
  readonly code: number | null;
  readonly output: string;
}

/** SmallProject is a project in a temporary folder. */
export interface SmallProject {
  readonly folder: string;
  /** Writes files. The names are paths relative to the project. */
  write(files: Readonly<Record<string, string>>): void;
  /** Starts a command in the project. */
  start(command: string, ...args: readonly string[]): OwnedProcess;
  /** Runs a command in the project to its end. */
  run(command: string, ...args: readonly string[]): Promise<Finished>;
}

/** Creates a project with these files. It shares the packages in `node_modules` with this repository. */
export function makeSmallProject(files: Readonly<Record<string, string>>): SmallProject {
  const folder = temporaryFolder('project');
  for (const name of SETTINGS) cpSync(name, join(folder, name), { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  // Without `.cache`, whose results are those of this repository.
  for (const name of readdirSync('node_modules').filter((each) => each !== '.cache'))
    symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  const write = (more: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(more)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
  };
  write(files);
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: temporaryFolder('home'),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Test',
    GIT_AUTHOR_EMAIL: 'test@example.com',
    GIT_COMMITTER_NAME: 'Test',
    GIT_COMMITTER_EMAIL: 'test@example.com',
  };
  const start = (command: string, ...args: readonly string[]): OwnedProcess =>
    spawnOwned(command, args, { cwd: folder, env });
  const run = async (command: string, ...args: readonly string[]): Promise<Finished> => {
    const started = start(command, ...args);
    started.child.ref();
    let output = '';
    for (const stream of [started.child.stdout, started.child.stderr]) {
      stream?.on('data', (chunk) => (output += String(chunk)));
    }
    const closed = new Promise((done) => started.child.once('close', done));
    const { code } = await started.exited;
    await closed;
    return { code, output };
  };
  return { folder, write, start, run };
}
