/**
 * Finds the real servers for tests: by a given URL, else as binaries on this machine, else by apt-get if `CI` or
 * `TRAILGATE_TEST_INSTALL=1` is set. Otherwise it names what is missing.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function onPath(name: string): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    if (folder !== '' && isExecutable(join(folder, name))) return join(folder, name);
  }
  return null;
}

/** `redis-server` (or `valkey-server`, which speaks the same), or null. */
export function findRedisServer(): string | null {
  return onPath('redis-server') ?? onPath('valkey-server');
}

/** The folder that holds `initdb` and `postgres`: the newest of Debian's, else PATH's, else Homebrew's, or null. */
export function findPostgresBin(): string | null {
  const versions = (root: string, pattern: RegExp) =>
    (existsSync(root) ? readdirSync(root) : [])
      .filter((name) => pattern.test(name))
      .toSorted((a, b) => Number(b.replace(/\D/g, '')) - Number(a.replace(/\D/g, '')))
      .map((name) => join(root, name, 'bin'));
  const initdb = onPath('initdb');
  const candidates = [
    ...versions('/usr/lib/postgresql', /^\d+$/),
    ...(initdb === null ? [] : [join(initdb, '..')]),
    ...versions('/opt/homebrew/opt', /^postgresql(@\d+)?$/),
    ...versions('/usr/local/opt', /^postgresql(@\d+)?$/),
  ];
  return candidates.find((bin) => isExecutable(join(bin, 'initdb')) && isExecutable(join(bin, 'postgres'))) ?? null;
}

/** Debian's `slowhttptest`, or null. */
export function findSlowHttpTest(): string | null {
  return onPath('slowhttptest');
}

/** `nginx`, or null. */
export function findNginx(): string | null {
  return onPath('nginx');
}

/** `pgbouncer`, or null. */
export function findPgBouncer(): string | null {
  return onPath('pgbouncer');
}

/** `prometheus` and `promtool`, its checker; null where one of them is not there. */
export function findPrometheus(): { readonly server: string; readonly tool: string } | null {
  const server = onPath('prometheus');
  const tool = onPath('promtool');
  return server === null || tool === null ? null : { server, tool };
}

/** A Chromium that playwright-core can drive, or null. */
export function findChromium(): string | null {
  return (
    onPath('chromium-headless-shell') ?? onPath('chromium') ?? onPath('chromium-browser') ?? onPath('google-chrome')
  );
}

/** True where a shared Redis is given or can be started. */
export function redisIsAvailable(): boolean {
  return (process.env['TEST_REDIS_URL'] ?? process.env['REDIS_URL']) !== undefined || findRedisServer() !== null;
}

/** True where a shared PostgreSQL is given or can be started. */
export function postgresIsAvailable(): boolean {
  return (process.env['TEST_DATABASE_URL'] ?? process.env['DATABASE_URL']) !== undefined || findPostgresBin() !== null;
}

/** Debian packages that are still needed; empty when nothing is missing. */
export function missingPackages(): string[] {
  return [
    ...(redisIsAvailable() ? [] : ['redis-server']),
    ...(postgresIsAvailable() ? [] : ['postgresql']),
    ...(findSlowHttpTest() === null ? ['slowhttptest'] : []),
    ...(findNginx() === null ? ['nginx'] : []),
    ...(findPgBouncer() === null ? ['pgbouncer'] : []),
    ...(findPrometheus() === null ? ['prometheus'] : []),
    ...(findChromium() === null ? ['chromium-headless-shell'] : []),
  ];
}

const isCi = (): boolean => !['', '0', 'false'].includes(process.env['CI'] ?? '');

/** Kinds of things that tests may install: packages take seconds, toolchains minutes. */
export type InstallLevel = 'packages' | 'toolchains';

/**
 * Reports whether tests may install foreign packages into their own folders: in CI, or because the developer said so.
 * @param level `toolchains` are never installed in CI: only `TRAILGATE_TEST_INSTALL=toolchains` installs them.
 */
export function installIsWanted(level: InstallLevel = 'packages'): boolean {
  const wanted = process.env['TRAILGATE_TEST_INSTALL'] ?? '';
  if (level === 'toolchains') return wanted === level;
  return isCi() || ['1', 'packages', 'toolchains'].includes(wanted);
}

/** True where the tests may install Debian packages, which is a change of the machine: in CI, or because the developer said so. */
export function mayInstall(): boolean {
  return (isCi() || process.env['TRAILGATE_TEST_INSTALL'] === '1') && onPath('apt-get') !== null;
}

/** Installs Debian packages; output goes to stderr. Returns null, or one line that says why it did not work. */
export function installPackages(packages: readonly string[]): string | null {
  const prefix = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  if (prefix.length > 0 && onPath('sudo') === null) return 'apt-get needs root, and there is no sudo';
  const environment = ['env', 'DEBIAN_FRONTEND=noninteractive'];
  const steps = [
    ['apt-get', 'update', '-qq'],
    ['apt-get', 'install', '-y', '-qq', '--no-install-recommends', ...packages],
  ];
  for (const step of steps) {
    const [command = '', ...args] = [...prefix, ...environment, ...step];
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env: process.env });
    if (status !== 0) {
      process.stderr.write(stdout + stderr);
      return `"${step.join(' ')}" failed with status ${status}`;
    }
  }
  return null;
}

const NAMES: Readonly<Record<string, string>> = {
  postgresql: 'PostgreSQL',
  'redis-server': 'Redis',
  pgbouncer: 'PgBouncer',
  prometheus: 'Prometheus',
  'chromium-headless-shell': 'Chromium',
};

/** One line for a person whose machine lacks servers: what, and how to get it. */
export function howToGet(packages: readonly string[]): string {
  const names = packages.map((name) => NAMES[name] ?? name).join(' and ');
  return (
    `${names} not found: the tests that need it are skipped. Get it with "apt-get install ${packages.join(' ')}" ` +
    `(or TRAILGATE_TEST_INSTALL=1 npm test), or point REDIS_URL / DATABASE_URL at a server that tests may use.`
  );
}
