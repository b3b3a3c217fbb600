/** Log lines are written complete, in order and in few writes. */
import { afterEach, describe, expect, it } from '@jest/globals';
import fs, { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

  it('writes a few kilobytes at a time, and smaller amounts after 100 ms', async () => {
    const log = open(false);
    for (let number = 0; number < 1_000; number++) log.write(`${'x'.repeat(99)}\n`);
    log.write('the last\n');
    await new Promise((done) => setTimeout(done, 300));
    expect(linesOf().at(-1)).toBe('the last');
    expect(sizes.length).toBeLessThan(15);
  });

  it('writes complete lines in pieces up to PIPE_BUF if several processes share the pipe', async () => {
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
    // Nothing is written before this function yields: 16 MiB wait, and the rest is dropped.
    for (let number = 0; number < 40_000; number++) log.write(`${'z'.repeat(999)}\n`);
    await log.flush(20_000);
    expect(linesOf().length + dropped.value - before).toBe(40_000);
    expect(dropped.value - before).toBeGreaterThan(20_000);
  });
});
