/** What the three nginx of a run (backend, plain peer, Lua peer) have in common. */
import { execFileSync } from 'node:child_process';
import { temporaryFolder } from './processes.mjs';

/** Debian compiles in folders under /var that only root may write; relative ones go to the temporary folder. */
export const NGINX_TEMP_PATHS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  .map((name) => `${name}_temp_path ${name}_temp;`)
  .join(' ');

/** Command and arguments that run a configuration file in the foreground. */
export function nginxArgs(file) {
  return { command: 'nginx', args: ['-p', `${temporaryFolder()}/`, '-e', 'stderr', '-c', file] };
}

/** Where Debian keeps the dynamic modules. */
export function nginxModulesPath() {
  const text = execFileSync('sh', ['-c', 'nginx -V 2>&1'], { encoding: 'utf8' });
  return /--modules-path=(\S+)/.exec(text)?.[1] ?? '/usr/lib/nginx/modules';
}
