/**
 * On a machine without Redis, a test run installs it if this is allowed. Otherwise it names what is missing, and counts
 * the skipped tests.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './processes.js';
import { findRedisServer, installIsWanted, installPackages, mayInstall, missingPackages } from './servers.js';

const before = { ...process.env };
let bin: string;

/** Creates a command in the only folder of PATH. */
function addCommand(name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
}

beforeEach(() => {
  bin = temporaryFolder('bin');
  for (const [name, path] of [
    ['env', '/usr/bin/env'],
    ['sh', '/bin/sh'],
  ] as const) {
    symlinkSync(path, join(bin, name));
  }
  const others = ['slowhttptest', 'nginx', 'pgbouncer', 'prometheus', 'promtool', 'chromium'];
  for (const name of others) addCommand(name, '');
  for (const name of ['TEST_REDIS_URL', 'REDIS_URL', 'CI', 'TRAILGATE_TEST_INSTALL']) delete process.env[name];
  process.env['PATH'] = bin;
  process.env['TEST_DATABASE_URL'] = 'postgres://given.test/postgres';
});

afterEach(() => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, before);
});

describe('a machine without redis-server', () => {
  it('lacks one package, unless a server was named by URL', () => {
    expect(missingPackages()).toEqual(['redis-server']);
    process.env['REDIS_URL'] = 'redis://given.test';
    expect(missingPackages()).toEqual([]);
  });

  it('lacks what attacks it as well, where that is not there', () => {
    rmSync(join(bin, 'slowhttptest'));
    expect(missingPackages()).toEqual(['redis-server', 'slowhttptest']);
  });

  it('lacks what stands in front of the panel, where that is not there', () => {
    rmSync(join(bin, 'nginx'));
    expect(missingPackages()).toEqual(['redis-server', 'nginx']);
  });

  it('lacks the pooler of database sessions, where that is not there', () => {
    rmSync(join(bin, 'pgbouncer'));
    expect(missingPackages()).toEqual(['redis-server', 'pgbouncer']);
  });

  it('lacks what reads its metrics as well, where a part of that is not there', () => {
    rmSync(join(bin, 'promtool'));
    expect(missingPackages()).toEqual(['redis-server', 'prometheus']);
  });

  it('lacks the browser that opens the panel, where that is not there', () => {
    rmSync(join(bin, 'chromium'));
    expect(missingPackages()).toEqual(['redis-server', 'chromium-headless-shell']);
  });

  it('installs only in CI or on request, and only where there is apt-get', () => {
    process.env['CI'] = 'true';
    expect(mayInstall()).toBe(false);
    addCommand('apt-get', '');
    expect(mayInstall()).toBe(true);
    process.env['CI'] = 'false';
    expect(mayInstall()).toBe(false);
    process.env['TRAILGATE_TEST_INSTALL'] = '1';
    expect([mayInstall(), installIsWanted()]).toEqual([true, true]);
    // Packages go into the tests' own folders, not on the machine.
    process.env['TRAILGATE_TEST_INSTALL'] = 'packages';
    expect([mayInstall(), installIsWanted()]).toEqual([false, true]);
  });

  it('reads the package lists first, then installs without a question', () => {
    addCommand('sudo', 'shift; exec "$@"');
    addCommand(
      'apt-get',
      `echo "$DEBIAN_FRONTEND $*" >> ${bin}/calls; : > ${bin}/redis-server; /bin/chmod +x ${bin}/redis-server`,
    );
    expect(installPackages(['redis-server'])).toBeNull();
    expect(readFileSync(join(bin, 'calls'), 'utf8')).toBe(
      'noninteractive update -qq\nnoninteractive install -y -qq --no-install-recommends redis-server\n',
    );
    expect(findRedisServer()).toBe(join(bin, 'redis-server'));
    expect(missingPackages()).toEqual([]);
  });

  it('says which step of an installation failed', () => {
    addCommand('sudo', 'shift; exec "$@"');
    addCommand('apt-get', 'case $1 in update) exit 0 ;; *) exit 100 ;; esac');
    expect(installPackages(['redis-server'])).toMatch(/^"apt-get install .* redis-server" failed with status 100$/);
  });

  it('runs the other tests, names what is missing in one line, and counts the skipped', () => {
    const args = ['test/run.mjs', 'test/support/redis.spec.ts', 'test/support/http.spec.ts'];
    const env = { PATH: bin, DATABASE_URL: 'postgres://given.test/postgres', HOME: bin };
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
    expect(stderr).toContain(
      'Redis not found: the tests that need it are skipped. Get it with "apt-get install redis-',
    );
    expect(stdout).toBe('6 passed, 0 failed, 5 skipped\n');
    expect(status).toBe(0);
  });
});

describe('a run without a result', () => {
  it('is a failure', () => {
    const env = { ...before, REDIS_URL: 'redis://given.test', DATABASE_URL: 'postgres://given.test/postgres' };
    const args = ['test/run.mjs', 'no-such-test'];
    const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
    expect([status, stdout]).toEqual([1, '0 passed, 1 failed\n']);
  });
});
