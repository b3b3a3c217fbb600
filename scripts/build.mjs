/**
 * Builds `dist/`. With `--if-stale`, builds only if `dist/` is missing or was built from different sources.
 *
 * A build writes to a temporary folder in `.build/`, and then renames the complete result to `dist/`. A killed build
 * therefore never leaves a partial `dist/`: it is the old one, the new one, or missing. The next build removes the
 * temporary folder. Concurrent builds wait for each other. The second one finds `dist/` up to date and builds nothing
 * (`--if-stale`).
 *
 * `dist/bundled/` contains the files that run, see `bundle.mjs`. `dist/panel/` is the admin panel. Building the panel
 * takes longer than the rest, so it has its own hash. If its sources are unchanged, it is copied from the previous
 * `dist/`.
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
/** Folder for unfinished builds. It is on the same file system as `dist/`, so a build can be moved with a rename. */
const BUILD_FOLDER = join(ROOT, '.build');
/** Name of the file in `dist/` and `dist/panel/` with the hash of the sources. */
const STAMP = 'sources.sha256';
/** Files outside `src/` that the build depends on. The lock file determines the version of the compiler. */
const SETTINGS = ['package.json', 'package-lock.json', '.swcrc', 'scripts/build.mjs', 'scripts/bundle.mjs'];
const PANEL = join(ROOT, 'src', 'panel');
/**
 * Files outside `src/panel` that the panel depends on: the tables of operations, permissions and errors, and the build
 * scripts.
 */
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
/** Maximum time to wait for another build. */
const LOCK_TIMEOUT_MS = 120_000;

/** Returns the paths of all files below a folder, sorted. Empty if the folder does not exist. */
function listFiles(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

/** Returns the TypeScript sources of the program, without specs and the panel. */
function programFiles() {
  return listFiles(join(ROOT, 'src')).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.spec.ts') && !file.startsWith(PANEL + sep),
  );
}

/** Returns the sources of the panel, without specs and type declarations, which do not affect the build. */
function panelFiles() {
  return listFiles(PANEL).filter((file) => !/\.(?:spec\.tsx?|d\.ts)$/.test(file));
}

/** Returns a hash of the names and contents of files. A missing file counts as empty. */
function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files) {
    const content = existsSync(file) ? readFileSync(file) : '';
    hash.update(`${relative(ROOT, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** Returns the hash of everything that `dist/panel/` is built from. */
const hashPanel = () => hashOf([...panelFiles(), ...PANEL_SETTINGS.map((name) => join(ROOT, name))]);

/** Returns the hash of everything that `dist/` is built from. */
const hashSources = () => hashOf([...programFiles(), ...SETTINGS.map((name) => join(ROOT, name))]) + hashPanel();

/** Reports whether a folder was built from sources with this hash. */
function isBuiltFrom(hash, folder = DIST) {
  const stamp = join(folder, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === hash;
}

/**
 * Waits until no other build runs, and takes the lock. It is a lock of SQLite on a file, which the kernel releases even
 * if the build is killed. Rejects after `LOCK_TIMEOUT_MS`.
 * @returns a function that releases the lock
 */
async function lock() {
  // Imported lazily, because old versions of Node lack this module. If nothing must be built, they get as far as
  // src/main.ts, which names the required version.
  const { DatabaseSync } = await import('node:sqlite');
  mkdirSync(BUILD_FOLDER, { recursive: true });
  const database = new DatabaseSync(join(BUILD_FOLDER, 'lock'), { timeout: LOCK_TIMEOUT_MS });
  database.exec('begin exclusive');
  return () => database.close();
}

/** Creates a temporary folder for this build, and removes those of killed builds. Requires the lock. */
function makeFolder() {
  for (const name of readdirSync(BUILD_FOLDER).filter((each) => each.startsWith('build-'))) {
    rmSync(join(BUILD_FOLDER, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(BUILD_FOLDER, 'build-'));
}

/** Compiles the program into `dist` of the folder, as configured in `.swcrc`. Rejects with the compiler's messages. */
async function compile(folder) {
  const { transformFile } = await import('@swc/core');
  const compiled = programFiles().map(async (file) => {
    const name = relative(join(ROOT, 'src'), file).replace(/\.ts$/, '.js');
    const target = join(folder, 'dist', name);
    // Relative to the final location of the compiled file, not to the temporary folder.
    const sourceFileName = relative(dirname(join(DIST, name)), file);
    const { code, map } = await transformFile(file, { cwd: ROOT, sourceFileName });
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, `${code}\n//# sourceMappingURL=${basename(name)}.map`);
    writeFileSync(`${target}.map`, map);
  });
  // Waits for all files even if one fails, because the caller removes the folder.
  const failed = (await Promise.allSettled(compiled)).filter(({ status }) => status === 'rejected');
  if (failed.length > 0) throw new Error(failed.map(({ reason }) => reason.message).join('\n'));
}

/** Builds the panel into `dist/panel` of the folder, or copies it from the previous build if it is up to date. */
async function addPanel(folder) {
  if (!existsSync(PANEL)) return;
  const target = join(folder, 'dist', 'panel');
  const built = join(DIST, 'panel');
  const hash = hashPanel();
  if (isBuiltFrom(hash, built)) return cpSync(built, target, { recursive: true });
  await buildPanel(ROOT, target);
  writeFileSync(join(target, STAMP), hash);
}

/** Builds everything in a temporary folder, and replaces `dist/` with the result. */
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
    // Hashed before the compiler reads the sources, so that a change during the build makes it stale.
    const hash = hashSources();
    if (!onlyIfStale || !isBuiltFrom(hash)) await build(hash);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } finally {
    unlock?.();
  }
}
