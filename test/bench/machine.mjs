/** Describes the environment of a measurement: machine, versions and commit. */
import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem } from 'node:os';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Returns facts for the result file and the caption. Call it before the load, because it reads the load average. */
export function machineFacts() {
  return {
    cpu: cpus()[0].model.trim(),
    cores: cpus().length,
    memoryGigabytes: Math.round(totalmem() / 1e9),
    kernel: release(),
    loadAverageAtStart: Number(loadavg()[0].toFixed(2)),
    versions: {
      node: process.version.slice(1),
      nginx: version('nginx -v'),
      haproxy: version('haproxy -v'),
      redis: version('redis-server --version'),
      wrk: version('wrk -v'),
    },
  };
}

function version(command) {
  const text = execFileSync('sh', ['-c', `${command} 2>&1 || true`], { encoding: 'utf8' });
  return /\d+\.\d+(\.\d+)?/.exec(text)?.[0] ?? 'unknown';
}

/**
 * Returns the short commit hash. Adds `-dirty` if `src/` or `package-lock.json` has uncommitted changes. Returns
 * `unknown` if git fails.
 */
export function commit() {
  const git = (...args) =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const dirty = git('status', '--porcelain', '--', 'src', 'package-lock.json') !== '';
    return git('rev-parse', '--short', 'HEAD') + (dirty ? '-dirty' : '');
  } catch {
    return 'unknown';
  }
}
