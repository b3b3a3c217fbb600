/** File descriptors of a running process: how many it has, and how many it may have from now on. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

/** Whether this machine can limit a process that runs: util-linux, and Linux's `/proc`. */
export const canLimitDescriptors = spawnSync('prlimit', ['--version']).status === 0;

/** The lowest number that a process has not taken: where its limit is that, it can open nothing any more. */
export function lowestFreeDescriptor(pid: number): number {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let lowest = 0;
  while (open.has(lowest)) lowest++;
  return lowest;
}

/** Sets the soft limit of a process that runs; what is open above it stays open. */
export function limitDescriptors(pid: number, limit: number): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}
