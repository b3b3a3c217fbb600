/** Finds what the benchmark needs, and installs what is missing: Debian packages where it may, the Node peers in their folder. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import { nginxModulesPath } from './nginx.mjs';

const PEERS = path.join(import.meta.dirname, 'peers');
const ROOT = path.resolve(import.meta.dirname, '../..');

const onPath = (command) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;

/** Debian package → is it there? */
const PACKAGES = {
  wrk: () => onPath('wrk'),
  'nghttp2-client': () => onPath('h2load'),
  openssl: () => onPath('openssl'),
  'nginx-light': () => onPath('nginx'),
  'libnginx-mod-http-lua': () => onPath('nginx') && existsSync(path.join(nginxModulesPath(), 'ngx_http_lua_module.so')),
  'lua-resty-core': () => existsSync('/usr/share/lua/5.1/resty/core.lua'),
  haproxy: () => onPath('haproxy'),
  'redis-server': () => onPath('redis-server'),
  'util-linux': () => onPath('taskset'),
};

/** Throws one line that a person can act on where something is missing and cannot be installed. */
export function installTools() {
  if (process.platform !== 'linux') throw new Error('The benchmark reads /proc and pins cores: it needs Linux.');
  if (cpus().length < 2)
    throw new Error('The benchmark needs two cores: one for the gateway, one for everything else.');
  const missing = missingPackages();
  if (missing.length === 0) return;
  const command = `apt-get install -y --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid() !== 0 || !onPath('apt-get'))
    throw new Error(`Missing: ${missing.join(', ')}. Run: sudo ${command}`);
  console.error(`Installing ${missing.join(', ')} …`);
  // RUNLEVEL=1 keeps the packages from starting their services
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  execFileSync('sh', ['-c', `apt-get update -qq && ${command}`], { stdio: ['ignore', 'ignore', 'inherit'], env });
  const still = missingPackages();
  if (still.length > 0) throw new Error(`Still missing after apt-get: ${still.join(', ')}.`);
}

function missingPackages() {
  return Object.entries(PACKAGES).flatMap(([name, isThere]) => (isThere() ? [] : [name]));
}

/** `npm ci` in the peers' own folder, on first use and after a change of their lock file. */
export function installPeers() {
  const installed = path.join(PEERS, 'node_modules/.package-lock.json');
  const lock = path.join(PEERS, 'package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  console.error('Installing the Node peers …');
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: PEERS,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Compiles Trailgate, so that what is measured is what stands in the tree. */
export function buildTrailgate() {
  execFileSync('npm', ['run', '-s', 'build'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
}
