/** The processes that a program has started, as the system lists them. */
import { execFileSync } from 'node:child_process';

/** Returns the process ids of the children of a process: of all, or of those whose command line contains a text. */
export function childrenOf(pid: number, command = ''): number[] {
  let list: string;
  try {
    list = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(pid)], { encoding: 'utf8' });
  } catch {
    // What `ps` says where there is none.
    return [];
  }
  const lines = list.split('\n').filter((line) => line !== '');
  return lines.flatMap((line) => (line.includes(command) ? [Number.parseInt(line, 10)] : []));
}

/** Workers of a gateway. */
export const WORKER = 'main.js start';
/** Name of the process that checks a changed configuration. */
export const CHECK = 'check-process';

/** Reports whether a process exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The socket of a counting process, of its command line. */
export function socketOf(pid: number): string {
  const args = execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .split(' ');
  return args.find((argument) => argument.endsWith('/counters')) ?? '';
}
