/** Processes and folders of a test never outlive the test run, no matter how it ends. */
import { describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { eventually, spawnOwned } from './processes.js';

/**
 * Script that acts as a test run. It starts processes and creates a folder as tests do, prints their IDs and the path,
 * and waits. One of the processes is the child of a shell script.
 */
const RUN = `
  import { registerHooks } from 'node:module';
  registerHooks({ resolve: (specifier, context, next) => next(specifier.replace(/^(\\..*)\\.js$/, '$1.ts'), context) });
  const { spawnOwned, temporaryFolder } = await import('./test/support/processes.ts');
  const script = spawnOwned('sh', ['-c', 'sleep 60 & echo $!; wait'], { detached: true });
  const pids = [spawnOwned('sleep', ['60']).pid, script.pid];
  script.child.stdout.on('data', (pid) =>
    console.log(JSON.stringify({ pids: [...pids, Number(pid)], folder: temporaryFolder('probe') })));
  setInterval(() => {}, 1000);
`;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`; // in a container without an init process, ended processes stay as zombies
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}

describe('a process of the tests', () => {
  it.each(['SIGKILL', 'SIGINT'] as const)('ends, and its folder goes, when the run ends by %s', async (signal) => {
    const run = spawn(process.execPath, ['--input-type=module', '-e', RUN], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(createInterface({ input: run.stdout }), 'line')) as [string];
    const { pids, folder } = JSON.parse(line) as { pids: number[]; folder: string };
    expect([pids.map(isAlive), existsSync(folder)]).toEqual([[true, true, true], true]);
    run.kill(signal);
    await eventually('the folder has gone', () => !existsSync(folder));
    expect(pids.map(isAlive)).toEqual([false, false, false]);
  });

  it('is killed, and the caller told, when it does not obey', async () => {
    const stubborn = spawnOwned('sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 0.1; done']);
    await once(stubborn.child.stdout ?? stubborn.child, 'data');
    await expect(stubborn.end('SIGTERM', 100)).rejects.toThrow('still running 100 ms after SIGTERM');
    expect(await stubborn.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });
});
