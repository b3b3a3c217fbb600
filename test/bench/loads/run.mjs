/**
 * `npm run bench:loads`: the running program under other loads than the one of `npm run bench`, a table for each. docs/benchmarks.md says
 * how it measures. Prints no table when any answer was wrong, or was not counted where it had to be.
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { buildTrailgate, installTools } from '../install.mjs';
import { commit, machineFacts } from '../machine.mjs';
import { cleanUpOnExit, LOAD_CORE, stopAll } from '../processes.mjs';
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
import { wholeNumbers } from '../whole-number.mjs';

const LOADS = { latency, keys, bodies, connections, refusals, workers, logs, ways, tools, soak };
/** Takes as long as it is told to, so it runs only when it is asked for. */
const ON_DEMAND = 'soak';

const HELP = `npm run bench:loads -- [options]
  --only a,b         some of: ${Object.keys(LOADS).join(', ')}
  --soak             the memory check too; it is not among the others by itself
  --minutes N        length of the memory check (10)
  --way text         of the ways only those whose title has this text
  --rounds N         rounds of every row (4)
  --seconds N        length of a round (5)
  --quick            one round of 2 s, a minute of memory check: a look, not a measurement
  --check            no measurement: show that each load does its job
  --no-build         measure dist/ as it stands
  --write-docs       put the tables into docs/benchmarks.md`;

function readArguments() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      soak: { type: 'boolean', default: false },
      minutes: { type: 'string' },
      way: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      'no-build': { type: 'boolean', default: false },
      'write-docs': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const number = wholeNumbers(values);
  return {
    ...values,
    minutes: number('minutes', values.quick ? 1 : 10, 1_440),
    rounds: number('rounds', values.quick ? 1 : 4, 100),
    seconds: number('seconds', values.quick ? 2 : 5, 600),
    chosen: chosenLoads(values),
  };
}

function chosenLoads({ only, soak: withSoak, check }) {
  const all = Object.keys(LOADS).filter((id) => id !== ON_DEMAND || withSoak || check);
  if (only === undefined) return all;
  const ids = only.split(',');
  const unknown = ids.filter((id) => LOADS[id] === undefined);
  if (unknown.length > 0) throw new Error(`--only: no load called ${unknown.join(', ')}`);
  return withSoak ? [...new Set([...ids, ON_DEMAND])] : ids;
}

async function bench({ chosen, check, 'no-build': built, 'write-docs': docs, ...settings }) {
  installTools();
  if (!built) buildTrailgate();
  const machine = machineFacts();
  execFileSync('taskset', ['-pc', String(LOAD_CORE), String(process.pid)], { stdio: 'ignore' });
  for (const id of chosen) {
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

cleanUpOnExit();
try {
  const options = readArguments();
  if (options.help) console.log(HELP);
  else await bench(options);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await stopAll();
}
process.exit();
