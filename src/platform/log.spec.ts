/** Log lines leave whole, in their order and in few writes, whoever wrote them and however the process ends. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import fs, { closeSync, openSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { temporaryFolder } from '../../test/support/processes.js';
import { openLog } from './log.js';
import { METRICS } from './metrics.js';

const path = join(temporaryFolder('log'), 'log');
const linesOf = (): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);

describe('the log', () => {
  let file = -1;
  const { write } = fs;
  const sizes: number[] = [];

  function open(shared: boolean) {
    sizes.length = 0;
    fs.write = ((fd: number, text: string, done: () => void) => {
      sizes.push(Buffer.byteLength(text));
      write(fd, text, done);
    }) as typeof fs.write;
    file = openSync(path, 'w');
    return openLog('info', file, shared);
  }
  afterEach(() => {
    fs.write = write;
    closeSync(file);
  });

  it('keeps the order of request lines and others', async () => {
    const log = open(false);
    for (let number = 0; number < 1_000; number++) {
      if (number % 3 === 0) log.logger.info({ number }, 'Grüße');
      else log.write(`{"number":${number},"message":"Grüße"}\n`);
    }
    await log.flush(5_000);
    const numbers = linesOf().map((line) => (JSON.parse(line) as { number: number }).number);
    expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, number) => number));
  });

  it('writes a few kilobytes at a time, and at once what waits for a tenth of a second', async () => {
    const log = open(false);
    for (let number = 0; number < 1_000; number++) log.write(`${'x'.repeat(99)}\n`);
    log.write('the last\n');
    await new Promise((done) => setTimeout(done, 300));
    expect(linesOf().at(-1)).toBe('the last');
    expect(sizes.length).toBeLessThan(15);
  });

  it('writes whole lines, in pieces that a pipe takes whole, where several processes share it', async () => {
    const log = open(true);
    for (let number = 0; number < 1_000; number++) log.write(`${'ü'.repeat(number % 300)}\n`);
    log.write(`${'y'.repeat(5_000)}\n`);
    await log.flush(5_000);
    expect(linesOf()).toHaveLength(1_001);
    expect(Math.max(...sizes.filter((size) => size !== 5_001))).toBeLessThanOrEqual(4_096);
    expect(sizes).toContain(5_001);
  });

  it('counts every line that it drops', async () => {
    const dropped = METRICS.logLinesDropped.series();
    const log = open(false);
    const before = dropped.value;
    // Nothing is written before this function lets go: 16 MiB wait, the rest is dropped.
    for (let number = 0; number < 40_000; number++) log.write(`${'z'.repeat(999)}\n`);
    await log.flush(20_000);
    expect(linesOf().length + dropped.value - before).toBe(40_000);
    expect(dropped.value - before).toBeGreaterThan(20_000);
  });
});

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
  expect(stderr).toMatch(/^trailgate: nobody reads the log any more \(EPIPE\)/m);
  const said = JSON.parse(stderr.split('\n').find((line) => line.startsWith('{')) ?? '{}') as Record<string, number>;
  expect(said).toMatchObject({ lost: { cause: 'EPIPE', isForGood: true } });
  // What the pipe had taken before its reader went is gone with it: nobody can count that.
  expect(said['dropped']).toBeGreaterThan(said['lines']! / 2);
});
