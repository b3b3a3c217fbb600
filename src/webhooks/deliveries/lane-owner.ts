/**
 * Names of lane owners. A name contains the process ID and its namespace. A process that starts in the same namespace
 * can thus detect that an owner is dead, and need not wait for its leases to expire.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';

const OWNER = /^(\d+)@(\S+) /;

/** Reports whether a process with this ID runs in this namespace. */
export type IsRunning = (pid: number) => boolean;

/**
 * Returns an identifier of the namespace of process IDs: the boot of this machine and the PID namespace. Null if
 * unknown.
 */
export function placeOfProcess(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return boot === '' ? null : `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}

/** Returns the owner name of this process, unique to this start. */
export function ownerName(place: string | null, pid = process.pid): string {
  return place === null ? `${pid} ${randomUUID()}` : `${pid}@${place} ${randomUUID()}`;
}

/**
 * Reports whether an owner is certainly dead: it belonged to this namespace and its process has ended. A reused process
 * ID counts as alive; the leases then expire.
 */
export function isDeadOwner(owner: string, place: string | null, isRunning: IsRunning = runs): boolean {
  const [, pid = '', at] = OWNER.exec(owner) ?? [];
  return place !== null && at === place && !isRunning(Number(pid));
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
