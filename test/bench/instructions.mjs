/**
 * Instructions that a program and its processes run, user's and kernel's, by the processor's own counters. They tell two builds apart on a
 * machine whose speed changes from minute to minute; what an instruction costs they do not tell.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { processTree } from './accounting.mjs';

/** Until `perf` counts every thread. */
const ATTACH_MS = 300;

let isThere;
/** Whether `perf` is installed, and the machine has counters to read. */
function canCount() {
  isThere ??= spawnSync('perf', ['stat', '-x,', '-e', 'instructions', 'true'], { encoding: 'utf8' });
  return isThere.status === 0 && /^\d+,/m.test(isThere.stderr);
}

/**
 * Begins to count. Resolves to a function that ends it and resolves to the instructions; to undefined where the machine cannot.
 * @param {number} pid
 * @returns {Promise<() => Promise<number | undefined>>}
 */
export async function countInstructions(pid) {
  if (!canCount()) return async () => undefined;
  const pids = processTree(pid).join(',');
  const perf = spawn('perf', ['stat', '-x,', '-e', 'instructions', '-p', pids], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  perf.stderr.on('data', (text) => (said += text));
  const ended = once(perf, 'exit');
  await sleep(ATTACH_MS);
  return async () => {
    perf.kill('SIGINT');
    await ended;
    const [, count] = /^(\d+),/m.exec(said) ?? [];
    return count === undefined ? undefined : Number(count);
  };
}
