/** Logging of a process that exits, or whose log reader is gone. The tests run the built code. */
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

it('the log loses no line when the process exits right after writing it', () => {
  const program = `import { openLog } from ${JSON.stringify(resolve('dist/platform/log.js'))};
    const log = openLog('info'); log.write('one\\n'); setImmediate(() => { log.write('two\\n'); process.exit(3); });`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  expect([stdout, status]).toEqual(['one\ntwo\n', 3]);
});

it('the log counts lines as dropped once the reader of its anonymous pipe is gone', () => {
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
  // Lines that were in the pipe when its reader left are lost and cannot be counted.
  expect(said['dropped']).toBeGreaterThan(said['lines']! / 2);
});
