/**
 * `npm run bench:loads`: the running program under other loads than the one of `npm run bench`, a table for each. docs/benchmarks.md says
 * how it measures. Prints no table when any answer was wrong, or was not counted where it had to be.
 */
import { commit, machineFacts } from '../machine.mjs';
import { stopAll } from '../processes.mjs';
import * as bodies from './bodies.mjs';
import * as connections from './connections.mjs';
import * as keys from './keys.mjs';
import * as logs from './logs.mjs';
import * as latency from './latency.mjs';
import * as refusals from './refusals.mjs';
import { caption, writeLoadDocs, writeLoadResult } from './report.mjs';
import * as soak from './soak.mjs';
import * as tools from './tools.mjs';
import * as ways from './ways.mjs';
import * as workers from './workers.mjs';

const LOADS = { latency, keys, bodies, connections, refusals, workers, logs, ways, tools, soak };
/** Takes as long as it is told to, so it runs only when it is asked for. */
const ON_DEMAND = 'soak';

export const options = {
  only: { takes: 'a,b', about: 'some of', among: Object.keys(LOADS) },
  soak: { about: 'the memory check too; it is not among the others by itself' },
  minutes: { takes: 'N', about: 'length of the memory check', normal: { normal: 10, quick: 1 }, most: 1_440 },
  way: { takes: 'text', about: 'of the ways only those whose title has this text' },
  rounds: { takes: 'N', about: 'rounds of every row', normal: { normal: 4, quick: 1 }, most: 100 },
  seconds: { takes: 'N', about: 'length of a round', normal: { normal: 5, quick: 2 }, most: 600 },
  quick: { about: 'one round of 2 s, a minute of memory check: a look, not a measurement' },
  check: { about: 'no measurement: show that each load does its job' },
};

function chosenLoads({ only, soak: withSoak, check }) {
  if (only === undefined) return Object.keys(LOADS).filter((id) => id !== ON_DEMAND || withSoak || check);
  return withSoak ? [...new Set([...only, ON_DEMAND])] : only;
}

/** Measures the loads one after the other, and prints a table for each. */
export async function measure({ check, 'write-docs': docs, ...settings }) {
  const machine = machineFacts();
  for (const id of chosenLoads({ ...settings, check })) {
    const load = LOADS[id];
    const startedMs = performance.now();
    const figures = await load.measure({ ...settings, check });
    // The next one begins on a machine where nothing of this one runs.
    await stopAll();
    const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1);
    if (check) {
      console.log(`${id}: does its job (${minutes} minutes).`);
      continue;
    }
    const { rounds, seconds } = settings;
    const how = load.howLong?.(figures) ?? `${rounds} round${rounds === 1 ? '' : 's'} of ${seconds} s`;
    const result = { commit: commit(), date: new Date().toISOString(), machine, settings: how, figures };
    const text = `${caption(result)}\n\n${load.table(figures)}`;
    console.log(`\n## ${load.title} (${minutes} minutes)\n\n${text}\n\nWritten to ${writeLoadResult(id, result)}`);
    if (docs) writeLoadDocs(id, text);
  }
}
