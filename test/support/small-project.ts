/** A project with our settings and a handful of sources, in a folder of its own: for what is done to a clone. */
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { spawnOwned, temporaryFolder, type OwnedProcess } from './processes.js';

/** Files that a clone has beside its sources. */
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

/** How a command ended, and what it said. */
export interface Finished {
  readonly code: number | null;
  readonly output: string;
}

/** The project: where it is, and what can be done in it. */
export interface SmallProject {
  readonly folder: string;
  /** Writes files, by their path in the project. */
  write(files: Readonly<Record<string, string>>): void;
  /** Starts a command in it. */
  start(command: string, ...args: readonly string[]): OwnedProcess;
  /** Runs a command to its end. */
  run(command: string, ...args: readonly string[]): Promise<Finished>;
}

/** Makes a project out of these files. It shares the packages in `node_modules` with ours. */
export function makeSmallProject(files: Readonly<Record<string, string>>): SmallProject {
  const folder = temporaryFolder('project');
  for (const name of SETTINGS) cpSync(name, join(folder, name), { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  // All but what our own checks and builds remember, which would be of another project then.
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
