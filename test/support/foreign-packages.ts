/**
 * Installs third-party packages that only the tests use. Each set has a folder under `test/` with its own lock file.
 * Installs in CI or with `TRAILGATE_TEST_INSTALL=packages`, and again when the lock file changes. Sets that take
 * minutes require `TRAILGATE_TEST_INSTALL=toolchains`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { installIsWanted, type InstallLevel, onPath } from './servers.js';

const INSTALL_TIMEOUT_MS = 240_000;
const RUN_TIMEOUT_MS = 200_000;
/** Options that make npm fail soon without a network. */
const NPM_PATIENCE = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=30000'];
const PIP_PATIENCE = ['--retries', '1', '--timeout', '30'];
const LINES_OF_FAILURE = 5;

/** Returns the path of Python in a folder's virtual environment. */
export function pythonOf(folder: string): string {
  return join(resolve(folder), '.venv/bin/python');
}

/**
 * Installs the packages of a folder's `package-lock.json`, if installation is enabled.
 * @returns null on success, or the missing requirement
 */
export function installNpmPackages(folder: string, level: InstallLevel = 'packages'): string | null {
  return installedOnce(folder, 'package-lock.json', 'node_modules', level, () =>
    runs(folder, 'npm', ['ci', '--ignore-scripts', ...NPM_PATIENCE]) ? null : 'npm and its registry',
  );
}

/**
 * Installs the packages of a folder's `requirements.txt` in a virtual environment there, if installation is enabled.
 * @returns null on success, or the missing requirement
 */
export function installPythonPackages(folder: string, level: InstallLevel = 'packages'): string | null {
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PIP_PATIENCE];
  return installedOnce(folder, 'requirements.txt', '.venv', level, () => {
    if (!runs(folder, 'python3', ['-m', 'venv', '--clear', '.venv'])) return 'python3 with venv';
    return runs(folder, pythonOf(folder), [...install, '-r', 'requirements.txt']) ? null : 'PyPI';
  });
}

/**
 * Installs the packages, unless the same list was installed before. A copy of the installed list is in the target
 * folder.
 */
function installedOnce(
  folder: string,
  list: string,
  target: string,
  level: InstallLevel,
  install: () => string | null,
): string | null {
  const [wanted, installed] = [join(folder, list), join(folder, target, `installed-${list}`)];
  if (existsSync(installed) && readFileSync(installed).equals(readFileSync(wanted))) return null;
  if (!installIsWanted(level))
    return `needs the packages of ${folder}, which TRAILGATE_TEST_INSTALL=${level} npm test installs`;
  const missing = install();
  if (missing !== null) return `needs ${missing} for the packages of ${folder}`;
  copyFileSync(wanted, installed);
  return null;
}

/** Returns null if all programs are installed and toolchains are enabled. Otherwise returns the missing requirement. */
export function missingToolchain(...programs: readonly string[]): string | null {
  const missing = programs.filter((program) => onPath(program) === null);
  if (missing.length > 0) return `needs ${missing.join(' and ')}`;
  return installIsWanted('toolchains') ? null : 'takes minutes: enable with TRAILGATE_TEST_INSTALL=toolchains';
}

function runs(folder: string, command: string, args: readonly string[]): boolean {
  const { status, stderr, error } = spawnSync(command, args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    timeout: INSTALL_TIMEOUT_MS,
  });
  if (status === 0) return true;
  const words = error?.message ?? stderr.trim().split('\n').slice(-LINES_OF_FAILURE).join('\n');
  process.stderr.write(`${command} in ${folder} failed: ${words}\n`);
  return false;
}

/** Result of a program. */
export interface ForeignRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program in a folder and waits for its exit.
 * @param command name of the program, or its path relative to the folder
 */
export async function runForeign(
  folder: string,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  timeoutMs = RUN_TIMEOUT_MS,
): Promise<ForeignRun> {
  const child = spawn(command.includes('/') ? resolve(folder, command) : command, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
  });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, 'exit')) as [number | null];
  const [stdout, stderr] = await said;
  return { code, stdout, stderr };
}
