/** What the figures were made on: machine, versions, commit. */
import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem } from 'node:os';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Facts for the result file and the head of the table. Call it before the load: it reads the load average. */
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

/** The short commit, with `-dirty` when the product's source differs from it; `unknown` outside git. */
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
