/**
 * Counts the instructions of a program and its processes, in user space and kernel, with the CPU's performance
 * counters. The count shows differences between builds even if the speed of the machine varies. It does not show how
 * long the instructions take.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { processTree } from './accounting.mjs';

/** Time until `perf` has attached to every thread. */
const ATTACH_MS = 300;

let probe;
/** Reports whether `perf` is installed and the machine has performance counters. */
function canCount() {
  probe ??= spawnSync('perf', ['stat', '-x,', '-e', 'instructions', 'true'], { encoding: 'utf8' });
  return probe.status === 0 && /^\d+,/m.test(probe.stderr);
}

/**
 * Starts counting the instructions of a process and its current descendants.
 * @param {number} pid
 * @returns {Promise<() => Promise<number | undefined>>} a function that stops counting and resolves to the number of
 *   instructions; undefined if the machine cannot count them
 */
export async function countInstructions(pid) {
  if (!canCount()) return async () => undefined;
  const pids = processTree(pid).join(',');
  const perf = spawn('perf', ['stat', '-x,', '-e', 'instructions', '-p', pids], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  perf.stderr.on('data', (text) => (output += text));
  const ended = once(perf, 'exit');
  await sleep(ATTACH_MS);
  return async () => {
    perf.kill('SIGINT');
    await ended;
    const [, count] = /^(\d+),/m.exec(output) ?? [];
    return count === undefined ? undefined : Number(count);
  };
}
