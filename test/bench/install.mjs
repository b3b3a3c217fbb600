/** Installs missing Debian packages and the Node peers, and builds Trailgate. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import { nginxModulesPath } from './nginx.mjs';

const PEERS = path.join(import.meta.dirname, 'peers');
const ROOT = path.resolve(import.meta.dirname, '../..');

const onPath = (command) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;

/** Debian packages that the benchmarks need. Each function reports whether the package is installed. */
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

/**
 * Installs missing Debian packages with apt-get, as root only. Throws a one-line error if the machine is unsuitable, or
 * if packages are missing and cannot be installed.
 */
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
  // RUNLEVEL=1 prevents the packages from starting their services.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  execFileSync('sh', ['-c', `apt-get update -qq && ${command}`], { stdio: ['ignore', 'ignore', 'inherit'], env });
  const stillMissing = missingPackages();
  if (stillMissing.length > 0) throw new Error(`Still missing after apt-get: ${stillMissing.join(', ')}.`);
}

function missingPackages() {
  return Object.entries(PACKAGES).flatMap(([name, isInstalled]) => (isInstalled() ? [] : [name]));
}

/** Runs `npm ci` in the folder of the Node peers, on first use and after each change of their lock file. */
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

/** Builds Trailgate from the working tree. */
export function buildTrailgate() {
  execFileSync('npm', ['run', '-s', 'build'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
}
