/**
 * Builds `dist/`; with `--if-stale` only where it is missing or was built from other sources than those that are here.
 *
 * Files of `dist/` are never written where a program may read them: the build goes into a folder of its own, and takes the place of
 * `dist/` whole, with the hash of its sources in it, once it is complete. Builds that start at the same time go one after the other, and the
 * second finds its work done. Whichever moment a build is killed in, `dist/` is the old one, the new one or missing, never
 * a part; the next build clears what is left.
 *
 * `dist/bundled/` is what runs: see `bundle.mjs`. `dist/panel/` is the admin panel. It has a hash of its own, since it takes longer than the rest: where its sources are the same, it is taken
 * over from the `dist/` that was there.
 */
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from './bundle.mjs';
import { buildPanel } from './panel/build.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');
/** Beside `dist/`, so that a rename moves what was built there. */
const WORKSHOP = join(ROOT, '.build');
/** In `dist/` and in `dist/panel/`: the hash of what it was built from. */
const STAMP = 'sources.sha256';
/** What a build depends on beside `src/`; the lock file stands for the compiler. */
const SETTINGS = ['package.json', 'package-lock.json', '.swcrc', 'scripts/build.mjs', 'scripts/bundle.mjs'];
const PANEL = join(ROOT, 'src', 'panel');
/** What the panel depends on beside its folder: the tables of operations, permissions and errors, and how it is built. */
const PANEL_SETTINGS = [
  'src/admin/openapi/operations.ts',
  'src/members/permissions.ts',
  'src/platform/problems/error-entry.ts',
  'src/platform/problems/public-errors.ts',
  'package-lock.json',
  'scripts/panel/build.mjs',
  'scripts/panel/vite.mjs',
  'scripts/panel/lingui.config.mjs',
];
/** How long to wait for another build. */
const LOCK_TIMEOUT_MS = 120_000;

/** Files of a folder and of those in it, in one order everywhere. */
function filesOf(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

/** The sources of the program, without its tests and the panel, which is no part of it. */
function programFiles() {
  return filesOf(join(ROOT, 'src')).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.spec.ts') && !file.startsWith(PANEL + sep),
  );
}

/** Sources of the panel without specs and type declarations, which change nothing. Empty if the panel is missing. */
function panelFiles() {
  return filesOf(PANEL).filter((file) => !/\.(?:spec\.tsx?|d\.ts)$/.test(file));
}

/** A hash of names and contents. What is not there counts as empty. */
function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files) {
    const content = existsSync(file) ? readFileSync(file) : '';
    hash.update(`${relative(ROOT, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** A hash of everything that `dist/panel/` is made from. */
const hashPanel = () => hashOf([...panelFiles(), ...PANEL_SETTINGS.map((name) => join(ROOT, name))]);

/** A hash of everything that `dist/` is made from. */
const hashSources = () => hashOf([...programFiles(), ...SETTINGS.map((name) => join(ROOT, name))]) + hashPanel();

/** Whether this folder was built from sources with this hash. */
function isBuiltFrom(hash, folder = DIST) {
  const stamp = join(folder, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === hash;
}

/** Waits until no other build runs. The lock is SQLite's, on a file: the kernel gives it back however a build ends. */
async function lock() {
  // Only here: an older Node that has nothing to build comes to where the program says which one it needs.
  const { DatabaseSync } = await import('node:sqlite');
  mkdirSync(WORKSHOP, { recursive: true });
  const database = new DatabaseSync(join(WORKSHOP, 'lock'), { timeout: LOCK_TIMEOUT_MS });
  database.exec('begin exclusive');
  return () => database.close();
}

/** A new folder for this build alone; those of builds that were killed go. */
function makeFolder() {
  for (const name of readdirSync(WORKSHOP).filter((each) => each.startsWith('build-'))) {
    rmSync(join(WORKSHOP, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(WORKSHOP, 'build-'));
}

/** Compiles into `dist` of the folder, by `.swcrc`. Throws what the compiler says where it fails. */
async function compile(folder) {
  const { transformFile } = await import('@swc/core');
  const compiled = programFiles().map(async (file) => {
    const name = relative(join(ROOT, 'src'), file).replace(/\.ts$/, '.js');
    const target = join(folder, 'dist', name);
    // As seen from where it will be, not from this folder.
    const sourceFileName = relative(dirname(join(DIST, name)), file);
    const { code, map } = await transformFile(file, { cwd: ROOT, sourceFileName });
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, `${code}\n//# sourceMappingURL=${basename(name)}.map`);
    writeFileSync(`${target}.map`, map);
  });
  // Each has ended before the folder goes, whichever fails first.
  const failed = (await Promise.allSettled(compiled)).filter(({ status }) => status === 'rejected');
  if (failed.length > 0) throw new Error(failed.map(({ reason }) => reason.message).join('\n'));
}

/** Builds the panel into `dist/panel` of the folder, or takes over the one that is there. */
async function addPanel(folder) {
  if (!existsSync(PANEL)) return;
  const target = join(folder, 'dist', 'panel');
  const built = join(DIST, 'panel');
  const hash = hashPanel();
  if (isBuiltFrom(hash, built)) return cpSync(built, target, { recursive: true });
  await buildPanel(ROOT, target);
  writeFileSync(join(target, STAMP), hash);
}

/** Compiles, and puts what was compiled in the place of `dist/`. */
async function build(hash) {
  const folder = makeFolder();
  try {
    await compile(folder);
    await bundle(ROOT, join(folder, 'dist'), DIST);
    await addPanel(folder);
    writeFileSync(join(folder, 'dist', STAMP), hash);
    if (existsSync(DIST)) renameSync(DIST, join(folder, 'previous'));
    renameSync(join(folder, 'dist'), DIST);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const onlyIfStale = process.argv.includes('--if-stale');
if (!onlyIfStale || !isBuiltFrom(hashSources())) {
  let unlock;
  try {
    unlock = await lock();
    // Hashed before the compiler reads them: what changes meanwhile is built the next time.
    const hash = hashSources();
    if (!onlyIfStale || !isBuiltFrom(hash)) await build(hash);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } finally {
    unlock?.();
  }
}
