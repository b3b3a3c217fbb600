import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, temporaryFolder } from '../../test/support/processes.js';
import { LogWriter, type LogLoss } from './log-writer.js';

const MAX_WAITING = 2_000;

describe('a writer to a named pipe', () => {
  let path: string;
  let reader: number;
  let fd: number;
  let text: string;
  let dropped: number;
  let changes: string[];
  let writer: LogWriter;

  const openReader = (): number => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  beforeEach(() => {
    path = `${temporaryFolder('log-writer')}/pipe`;
    execFileSync('mkfifo', [path]);
    reader = openReader();
    fd = openSync(path, constants.O_WRONLY);
    text = '';
    dropped = 0;
    changes = [];
    const note = (what: string) => (loss: LogLoss) =>
      void changes.push(`${what} ${loss.sinceMs} ${loss.cause} ${loss.isForGood}`);
    writer = new LogWriter({
      fd,
      maxWriteBytes: 512,
      maxWaitingBytes: MAX_WAITING,
      nowMs: () => 5_000,
      onDropped: (lines) => (dropped += lines),
      onLost: note('lost'),
      onBack: note('back'),
    });
  });
  afterEach(() => {
    closeSync(reader);
    closeSync(fd);
  });

  const write = (from: number, to: number): void => {
    for (let number = from; number < to; number++) {
      const line = `line ${number}\n`;
      writer.write(line, line.length);
    }
  };

  /** Reports whether a line has arrived. Reads all pending data first. */
  const has = (line: string): boolean => {
    const bytes = Buffer.alloc(65_536);
    try {
      for (let count = 1; count > 0;) {
        count = readSync(reader, bytes);
        text += bytes.toString('latin1', 0, count);
      }
    } catch {
      // Nothing to read.
    }
    return text.includes(`${line}\n`);
  };

  it('keeps complete lines in order for the next reader, and counts those beyond its limit', async () => {
    write(0, 10);
    await eventually('they are read', () => has('line 9'));
    closeSync(reader);
    write(10, 1_000);
    await eventually('the loss is noticed', () => writer.currentLoss !== undefined);
    write(1_000, 1_010);
    reader = openReader();
    await eventually('it is written again', () => writer.currentLoss === undefined);
    write(1_010, 1_011);
    await eventually('the last is read', () => has('line 1010'));
    const lines = text.split('\n').slice(0, -1);
    expect(lines.length + dropped).toBe(1_011);
    expect(dropped).toBeGreaterThan(100);
    const numbers = lines.map((line) => Number(/^line (\d+)$/.exec(line)?.[1]));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(changes).toEqual(['lost 5000 EPIPE false', 'back 5000 EPIPE false']);
  });

  it('waits for a slow reader without blocking a thread', async () => {
    const block = `${'x'.repeat(499)}\n`;
    let total = 0;
    while (dropped === 0) {
      writer.write(block, block.length);
      total += 1;
      await new Promise((done) => setImmediate(done));
    }
    expect(writer.currentLoss).toBeUndefined();
    await eventually('all is read that was not dropped', () => {
      has('');
      return text.length === (total - dropped) * block.length;
    });
  });
});
