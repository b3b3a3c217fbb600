/** Settings of all nginx instances of a run: the backend, the plain peer and the Lua peers. */
import { execFileSync } from 'node:child_process';
import { temporaryFolder } from './processes.mjs';

/**
 * Directives for temporary files. They are relative to the temporary folder, because Debian's defaults require root.
 */
export const NGINX_TEMP_PATHS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  .map((name) => `${name}_temp_path ${name}_temp;`)
  .join(' ');

/** Returns the command and arguments that run nginx with a configuration file. */
export function nginxArgs(file) {
  return { command: 'nginx', args: ['-p', `${temporaryFolder()}/`, '-e', 'stderr', '-c', file] };
}

/** Returns the folder of nginx's dynamic modules. */
export function nginxModulesPath() {
  const text = execFileSync('sh', ['-c', 'nginx -V 2>&1'], { encoding: 'utf8' });
  return /--modules-path=(\S+)/.exec(text)?.[1] ?? '/usr/lib/nginx/modules';
}
