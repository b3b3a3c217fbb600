/**
 * The name under which a process owns lanes. It says where the process is, so that one that starts at the same
 * place can tell whether an owner is dead, and need not wait for its leases to end.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';

const OWNER = /^(\d+)@(\S+) /;

/** Whether a process of that number runs at this place. */
export type IsRunning = (pid: number) => boolean;

/** Where numbers of processes mean the same: this boot of this machine, or of a container on it. Null: nobody says. */
export function placeOfProcess(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return boot === '' ? null : `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}

/** The name of this process as an owner; of this start of it, of no other. */
export function ownerName(place: string | null, pid = process.pid): string {
  return place === null ? `${pid} ${randomUUID()}` : `${pid}@${place} ${randomUUID()}`;
}

/**
 * Whether an owner is dead for certain: it was here, and its process is no more. A number that is another process's by
 * now counts as alive; its leases end by themselves.
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
    // Somebody else's process is one as well.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
