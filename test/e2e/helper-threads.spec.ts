/**
 * Helper threads run at a lower priority than the event loop, so that requests on a shared core do not wait for
 * compilers and flushes.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { describeWithProc } from '../support/describe-with.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

/** Index of the nice value in /proc/<pid>/stat, counted from the field after the name. */
const NICE_FIELD = 16;

/** Returns the name and nice value of each thread. */
function threadsOf(pid: number): { name: string; nice: number }[] {
  return readdirSync(`/proc/${pid}/task`).map((id) => {
    const stat = readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8');
    const end = stat.lastIndexOf(')');
    return { name: stat.slice(stat.indexOf('(') + 1, end), nice: Number(stat.slice(end + 2).split(' ')[NICE_FIELD]) };
  });
}

describeWithProc('a gateway process', () => {
  let gateway: RunningTrailgate;
  beforeAll(async () => {
    gateway = await startTrailgate();
  });
  afterAll(() => gateway.stop());

  it.each([/^node-V8Worker/, /^sqlite/])('runs its helper threads at a lower priority: %s', (name) => {
    const helpers = threadsOf(gateway.pid).filter((thread) => name.test(thread.name));
    expect(helpers.length).toBeGreaterThan(0);
    expect(new Set(helpers.map(({ nice }) => nice))).toEqual(new Set([5]));
  });

  it('runs its event loop at the priority it was started with', () => {
    const [main] = threadsOf(gateway.pid).filter(({ name }) => name.startsWith('node-MainThread'));
    expect(main?.nice).toBe(threadsOf(process.pid).find(({ name }) => name.startsWith('node-MainThread'))?.nice);
  });
});
