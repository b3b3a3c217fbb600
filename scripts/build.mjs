/**
 * Builds `dist/`; with `--if-stale` only where it is missing or was built from other sources than those that are here.
 *
 * Files of `dist/` are never written where a program may read them: the build goes into a folder of its own, and takes the place of
 * `dist/` whole, with the hash of its sources in it, once it is complete. Builds that start at the same time go one after the other, and the
 * second finds its work done. Whichever moment a build is killed in, `dist/` is the old one, the new one or missing, never
 * a part; the next build clears what is left.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');
/** Beside `dist/`, so that a rename moves what was built there. */
const WORKSHOP = join(ROOT, '.build');
/** In `dist/`: the hash of what it was built from. */
const STAMP = 'sources.sha256';
/** What a build depends on beside `src/`; the lock file stands for the compiler. */
const SETTINGS = ['package.json', 'package-lock.json', '.swcrc', 'scripts/build.mjs'];
/** How long to wait for another build. */
const LOCK_TIMEOUT_MS = 120_000;

/** The sources of the program, without its tests. */
function programFiles() {
  return readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.spec.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

/** A hash of everything that `dist/` is made from: names and contents. */
function hashSources() {
  const hash = createHash('sha256');
  for (const file of [...programFiles(), ...SETTINGS.map((name) => join(ROOT, name))]) {
    const content = existsSync(file) ? readFileSync(file) : '';
    hash.update(`${relative(ROOT, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** Whether `dist/` was built from sources with this hash. */
function isBuiltFrom(hash) {
  const stamp = join(DIST, STAMP);
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

/** Compiles, and puts what was compiled in the place of `dist/`. */
async function build(hash) {
  const folder = makeFolder();
  try {
    await compile(folder);
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
