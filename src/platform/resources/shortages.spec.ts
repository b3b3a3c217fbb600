/** Each shortage is counted, and the log has a line now and then. */
import { expect, it } from '@jest/globals';
import type { Logger } from '../log.js';
import { METRICS } from '../metrics.js';
import { Shortages } from './shortages.js';

let nowMs = 1_000_000;

function fixture(): { shortages: Shortages; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const shortages = new Shortages(() => nowMs);
  shortages.log = { error: (line: Record<string, unknown>) => void lines.push(line) } as unknown as Logger;
  return { shortages, lines };
}

it('a shortage is logged at once, and then at most every ten seconds with its number of occurrences', () => {
  const { shortages, lines } = fixture();
  const before = METRICS.outOfResources.series('ports').value;
  for (let count = 0; count < 50; count++) shortages.record('ports', 'connect', 'EADDRNOTAVAIL');
  nowMs += 9_999;
  shortages.record('ports', 'connect', 'EADDRNOTAVAIL');
  expect(lines).toEqual([
    { event: 'out_of_resources', resource: 'ports', where: 'connect', code: 'EADDRNOTAVAIL', times: 1 },
  ]);
  nowMs += 1;
  shortages.record('ports', 'connect', 'EADDRNOTAVAIL');
  expect(lines[1]).toMatchObject({ times: 51 });
  expect(METRICS.outOfResources.series('ports').value).toBe(before + 52);
});

it('a shortage of one resource does not suppress the log line of another', () => {
  const { shortages, lines } = fixture();
  shortages.record('ports', 'connect');
  shortages.record('memory', 'connect');
  expect(lines.map(({ resource }) => resource)).toEqual(['ports', 'memory']);
});

it('a shortage of descriptors is assumed for a second, and checked afterwards', () => {
  const { shortages } = fixture();
  expect(shortages.isOutOfDescriptors).toBe(false);
  shortages.record('file_descriptors', 'connect', 'EMFILE');
  nowMs += 999;
  expect(shortages.isOutOfDescriptors).toBe(true);
  nowMs += 1;
  expect(shortages.isOutOfDescriptors).toBe(false);
});
