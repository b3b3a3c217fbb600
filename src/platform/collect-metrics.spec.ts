/** Requests are served while the body of a large scrape is written. */
import { expect, it } from '@jest/globals';
import { writeMetrics } from './collect-metrics.js';
import { TEXT, textOf } from './metrics/exposition.js';
import type { Family } from './metrics/family.js';

const SERIES = 5_000;
/** Maximum number of series that are written in one turn of the event loop. */
const MAX_PER_TURN = 200;

const family = (name: string): Family => ({
  name,
  kind: 'gauge',
  help: 'A number.',
  series: Array.from({ length: SERIES }, (_, index) => ({ labels: `id="${index}"`, value: index })),
});

it('a scrape of 10,000 series yields to requests after 200 series at most, and has all of them', async () => {
  const perTurn = [0];
  let isWritten = false;
  const countTurns = (): void => {
    perTurn.push(0);
    if (!isWritten) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  const counting: typeof TEXT = {
    ...TEXT,
    series: (series, of) => {
      perTurn[perTurn.length - 1]! += 1;
      return TEXT.series(series, of);
    },
  };
  const families = [family('first'), family('second')];
  const body = await writeMetrics(families, counting);
  isWritten = true;
  expect(body.toString()).toBe(families.map(textOf).join(''));
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(MAX_PER_TURN);
  expect(perTurn.reduce((sum, each) => sum + each)).toBe(2 * SERIES);
});
