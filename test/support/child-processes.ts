/** Finds the child processes of a program in `/proc`, because a minimal machine has no `ps`. */
import { readdirSync, readFileSync } from 'node:fs';

/**
 * Returns the IDs of the child processes of a process.
 * @param command text that the command line of a child must contain
 */
export function childrenOf(pid: number, command = ''): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const isChild = (child: string): boolean =>
    parentOf(child) === pid && (command === '' || argumentsOf(child).join(' ').includes(command));
  return pids.filter(isChild).map(Number);
}

/** Returns the parent of a process. Returns undefined if the process has ended. See proc_pid_stat(5). */
function parentOf(pid: string): number | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  // The command's name is in parentheses and can contain spaces. The state and the parent follow it.
  return stat === '' ? undefined : Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]);
}

/** Returns the command line of a process. It is empty if the process has ended. */
function argumentsOf(pid: number | string): string[] {
  return readProc(`/proc/${pid}/cmdline`).split('\0');
}

function readProc(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** Part of the command line of a gateway's workers. */
export const WORKER = 'main.js start';
/** Part of the command line of the process that checks a changed configuration. */
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

/** Returns the socket path of a counting process, from its command line. Returns an empty string if there is none. */
export function socketOf(pid: number): string {
  return argumentsOf(pid).find((argument) => argument.endsWith('/counters')) ?? '';
}
