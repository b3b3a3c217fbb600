/**
 * Creates the names of processes that own lanes. A name contains the process ID and its namespace. So a process in the
 * same namespace can detect that an owner has ended, and need not wait until the owner's leases expire.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';

const OWNER = /^(\d+)@(\S+) /;

/** Reports whether a process with this ID runs in this namespace. */
export type IsRunning = (pid: number) => boolean;

/**
 * Returns an identifier of the namespace of process IDs: the boot ID of this machine and the PID namespace. Returns
 * null if the namespace is unknown, as on systems without `/proc`.
 */
export function processNamespace(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return boot === '' ? null : `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}

/** Returns the owner name of this process, which is unique to this start. @param place result of `processNamespace`. */
export function ownerName(place: string | null, pid = process.pid): string {
  return place === null ? `${pid} ${randomUUID()}` : `${pid}@${place} ${randomUUID()}`;
}

/**
 * Reports whether an owner has certainly ended: it belongs to this namespace, and its process no longer runs. Returns
 * false if another process has the same process ID by now. The leases of the owner then expire.
 */
export function isDeadOwner(owner: string, place: string | null, isRunning: IsRunning = isProcessRunning): boolean {
  const [, pid = '', at] = OWNER.exec(owner) ?? [];
  return place !== null && at === place && !isRunning(Number(pid));
}

function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
