/**
 * Finds the real servers for tests, as a given URL or as binaries on this machine. Installs missing ones with apt-get
 * if `CI` or `TRAILGATE_TEST_INSTALL=1` is set. Otherwise names what is missing.
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

/** Returns the path of an executable in PATH, or null. */
export function onPath(name: string): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    if (folder !== '' && isExecutable(join(folder, name))) return join(folder, name);
  }
  return null;
}

/** Returns the path of `redis-server` or of the compatible `valkey-server`, or null. */
export function findRedisServer(): string | null {
  return onPath('redis-server') ?? onPath('valkey-server');
}

/**
 * Returns the folder of `initdb` and `postgres`, or null. Prefers Debian's newest version, then PATH, then Homebrew.
 */
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

export function findSlowHttpTest(): string | null {
  return onPath('slowhttptest');
}

export function findNginx(): string | null {
  return onPath('nginx');
}

export function findPgBouncer(): string | null {
  return onPath('pgbouncer');
}

/** Returns the paths of `prometheus` and its checker `promtool`, or null if one of them is missing. */
export function findPrometheus(): { readonly server: string; readonly tool: string } | null {
  const server = onPath('prometheus');
  const tool = onPath('promtool');
  return server === null || tool === null ? null : { server, tool };
}

/** Returns the path of a Chromium that playwright-core can control, or null. */
export function findChromium(): string | null {
  return (
    onPath('chromium-headless-shell') ?? onPath('chromium') ?? onPath('chromium-browser') ?? onPath('google-chrome')
  );
}

/** Reports whether a shared Redis is given by URL or can be started. */
export function redisIsAvailable(): boolean {
  return (process.env['TEST_REDIS_URL'] ?? process.env['REDIS_URL']) !== undefined || findRedisServer() !== null;
}

/** Reports whether a shared PostgreSQL is given by URL or can be started. */
export function postgresIsAvailable(): boolean {
  return (process.env['TEST_DATABASE_URL'] ?? process.env['DATABASE_URL']) !== undefined || findPostgresBin() !== null;
}

/** Returns the Debian packages that are missing. */
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

/** Kinds of installations. Packages take seconds, and toolchains take minutes. */
export type InstallLevel = 'packages' | 'toolchains';

/**
 * Reports whether tests may install third-party packages into their own folders: in CI, or with
 * `TRAILGATE_TEST_INSTALL`.
 * @param level `toolchains` need `TRAILGATE_TEST_INSTALL=toolchains`, also in CI.
 */
export function installIsWanted(level: InstallLevel = 'packages'): boolean {
  const wanted = process.env['TRAILGATE_TEST_INSTALL'] ?? '';
  if (level === 'toolchains') return wanted === level;
  return isCi() || ['1', 'packages', 'toolchains'].includes(wanted);
}

/** Reports whether tests may install Debian packages on the machine: in CI, or with `TRAILGATE_TEST_INSTALL=1`. */
export function mayInstall(): boolean {
  return (isCi() || process.env['TRAILGATE_TEST_INSTALL'] === '1') && onPath('apt-get') !== null;
}

/**
 * Installs Debian packages with `apt-get`. Returns null, or the reason of a failure in one line. If a command fails,
 * writes its output to stderr.
 */
export function installPackages(packages: readonly string[]): string | null {
  const prefix = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  if (prefix.length > 0 && onPath('sudo') === null) return 'apt-get needs root, and sudo is missing';
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

/** Returns one line for the developer: which servers are missing, and how to install them. */
export function howToGet(packages: readonly string[]): string {
  const names = packages.map((name) => NAMES[name] ?? name).join(' and ');
  return (
    `${names} not found: the tests that need it are skipped. Get it with "apt-get install ${packages.join(' ')}" ` +
    `(or TRAILGATE_TEST_INSTALL=1 npm test), or point REDIS_URL / DATABASE_URL at a server that tests may use.`
  );
}
