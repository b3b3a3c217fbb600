/**
 * `npm run bench:loads`: measures the program under other loads than `npm run bench`, with a table for each load.
 * Prints an error instead of a table if a response was wrong or was not counted. docs/benchmarks.md describes the
 * method.
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
/** The memory check, which runs only on request, because the user chooses its duration. */
const ON_DEMAND = 'soak';

export const options = {
  only: { takes: 'a,b', about: 'some of', among: Object.keys(LOADS) },
  soak: { about: 'also run the memory check, which is not part of the default' },
  minutes: { takes: 'N', about: 'length of the memory check', normal: { normal: 10, quick: 1 }, most: 1_440 },
  way: { takes: 'text', about: 'for latency and ways: only rows whose title contains this text' },
  rounds: { takes: 'N', about: 'rounds of every row', normal: { normal: 4, quick: 1 }, most: 100 },
  seconds: { takes: 'N', about: 'length of a round', normal: { normal: 5, quick: 2 }, most: 600 },
  quick: { about: 'one round of 2 s, a minute of memory check: a look, not a measurement' },
  check: { about: 'no measurement: show that each load does its job' },
};

function chosenLoads({ only, soak: withSoak, check }) {
  if (only === undefined) return Object.keys(LOADS).filter((id) => id !== ON_DEMAND || withSoak || check);
  return withSoak ? [...new Set([...only, ON_DEMAND])] : only;
}

/** Measures the loads one after the other, prints their tables, and writes the result file. */
export async function measure({ check, 'write-docs': docs, ...settings }) {
  const machine = machineFacts();
  for (const id of chosenLoads({ ...settings, check })) {
    const load = LOADS[id];
    const startedMs = performance.now();
    const figures = await load.measure({ ...settings, check });
    // Nothing of this load may run during the next one.
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
