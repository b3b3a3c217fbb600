/** The kernel's accounting: CPU time and memory of a gateway with all of its processes and threads, and of a whole core. */
import { readFileSync, readdirSync } from 'node:fs';

/** USER_HZ: fixed at 100 in the kernel's interface on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/** The process and everything below it, the given one first. */
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
    return []; // it ended while we looked
  }
}

/** User and system time of all threads of the tree, in seconds, from fields 14 and 15 of /proc/<pid>/stat. */
export function cpuSeconds(pid) {
  let ticks = 0;
  for (const member of processTree(pid)) {
    const stat = readFileSync(`/proc/${member}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name in field 2 may hold blanks
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks / TICKS_PER_SECOND;
}

/** The same of this process and of its children that have ended: the load is one of them. */
export function ownCpuSeconds() {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0) / TICKS_PER_SECOND;
}

/** Resident memory of the tree in MB (pages shared by master and worker count twice). */
export function residentMegabytes(pid) {
  const pages = processTree(pid).map((member) => Number(readFileSync(`/proc/${member}/statm`, 'utf8').split(' ')[1]));
  return (pages.reduce((sum, count) => sum + count, 0) * PAGE_BYTES) / 1e6;
}

/**
 * Time that a core was not idle, in seconds since boot; the host's stolen time is part of it.
 * @param {number | ''} core `''`: all of them together
 */
export function coreBusySeconds(core) {
  const line = readFileSync('/proc/stat', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`cpu${core} `));
  const [user, nice, system, , , interrupt, softInterrupt, steal] = line.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + interrupt + softInterrupt + steal) / TICKS_PER_SECOND;
}
