/** Reads and limits the file descriptors of a running process. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

/** Whether this machine has `prlimit` (util-linux, Linux only), which can limit a running process. */
export const canLimitDescriptors = spawnSync('prlimit', ['--version']).status === 0;

/**
 * Returns the lowest unused file descriptor of a process. With this number as its limit, the process cannot open any
 * more files.
 */
export function lowestFreeDescriptor(pid: number): number {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let lowest = 0;
  while (open.has(lowest)) lowest++;
  return lowest;
}

/**
 * Sets the soft limit of a running process. Open descriptors above the limit stay open.
 * @throws Error if `prlimit` fails
 */
export function limitDescriptors(pid: number, limit: number): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}
