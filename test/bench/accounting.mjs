/** Reads CPU time and memory from `/proc`: of a process with all its descendants, and of a core. */
import { readFileSync, readdirSync } from 'node:fs';

/** USER_HZ, the unit of CPU times in `/proc`. It is 100 on all architectures that Node supports. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/** Returns the IDs of a process and all its descendants, that process first. */
export function processTree(pid) {
  const tree = [pid];
  for (let i = 0; i < tree.length; i++) tree.push(...childrenOf(tree[i]));
  return tree;
}

function childrenOf(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return []; // the process has exited
  }
}

/**
 * Returns the user and system CPU time of a process and its descendants, in seconds. Reads fields 14 and 15 of
 * `/proc/<pid>/stat`. Throws if one of the processes exits meanwhile.
 */
export function cpuSeconds(pid) {
  let ticks = 0;
  for (const member of processTree(pid)) {
    const stat = readFileSync(`/proc/${member}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name in field 2 can contain spaces
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks / TICKS_PER_SECOND;
}

/** Returns the CPU time of this process and of its exited children, which include the load generator, in seconds. */
export function ownCpuSeconds() {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0) / TICKS_PER_SECOND;
}

/**
 * Returns the resident memory of a process and its descendants, in MB of 10^6 bytes. Pages that several processes share
 * are counted once for each process.
 */
export function residentMegabytes(pid) {
  const pages = processTree(pid).map((member) => Number(readFileSync(`/proc/${member}/statm`, 'utf8').split(' ')[1]));
  return (pages.reduce((sum, count) => sum + count, 0) * PAGE_BYTES) / 1e6;
}

/**
 * Returns the time since boot in which a core was not idle, in seconds. Includes time stolen by the hypervisor.
 * @param {number | ''} core number of the core; `''` for the sum of all cores
 */
export function coreBusySeconds(core) {
  const line = readFileSync('/proc/stat', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`cpu${core} `));
  const [user, nice, system, , , interrupt, softInterrupt, steal] = line.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + interrupt + softInterrupt + steal) / TICKS_PER_SECOND;
}
