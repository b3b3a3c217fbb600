import { expect, it } from '@jest/globals';
import type { Logger } from './log.js';
import { RareWarning } from './rare-warning.js';

it('logs the first event at once and later ones once a minute, with their number', () => {
  const lines: unknown[] = [];
  let nowMs = 0;
  const log = { warn: (...line: unknown[]) => void lines.push(line) } as unknown as Logger;
  const warning = new RareWarning(log, () => nowMs);
  const warnAt = (ms: number, host: string): void => {
    nowMs = ms;
    warning.warn({ event: 'host_refused', host }, 'Refused');
  };
  warnAt(5, 'a');
  warnAt(6, 'b');
  warnAt(60_004, 'c');
  expect(lines).toEqual([[{ event: 'host_refused', host: 'a', times: 1 }, 'Refused']]);
  warnAt(60_005, 'd');
  expect(lines.at(-1)).toEqual([{ event: 'host_refused', host: 'd', times: 3 }, 'Refused']);
});
