/** The log of a process that ends, or that nobody reads any more: as it is built. */
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

it('loses nothing where the process ends at once', () => {
  const program = `import { openLog } from ${JSON.stringify(resolve('dist/platform/log.js'))};
    const log = openLog('info'); log.write('one\\n'); setImmediate(() => { log.write('two\\n'); process.exit(3); });`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  expect([stdout, status]).toEqual(['one\ntwo\n', 3]);
});

it('counts the lines that nobody can ever read: a pipe without a name has no second reader', () => {
  const program = `import { openLog } from ${JSON.stringify(resolve('dist/platform/log.js'))};
    import { METRICS } from ${JSON.stringify(resolve('dist/platform/metrics.js'))};
    const log = openLog('info');
    let lines = 0;
    const timer = setInterval(() => log.write('line ' + ++lines + '\\n'), 5);
    setTimeout(() => clearInterval(timer), 1_500);
    setTimeout(() => {
      console.error(JSON.stringify({ lines, dropped: METRICS.logLinesDropped.series().value, lost: log.lost }));
      process.exit(3);
    }, 2_000);`;
  const command = `"${process.execPath}" --input-type=module -e "$0" | { read -r first; echo "$first"; }`;
  const { stdout, stderr } = spawnSync('sh', ['-c', command, program], { encoding: 'utf8' });
  expect(stdout).toBe('line 1\n');
  expect(stderr).toMatch(/^trailgate: the reader of the log is gone \(EPIPE\)/m);
  const said = JSON.parse(stderr.split('\n').find((line) => line.startsWith('{')) ?? '{}') as Record<string, number>;
  expect(said).toMatchObject({ lost: { cause: 'EPIPE', isForGood: true } });
  // What the pipe had taken before its reader went is gone with it: nobody can count that.
  expect(said['dropped']).toBeGreaterThan(said['lines']! / 2);
});
