/**
 * `npm run bench`: Trailgate and its peers in turn, side by side on this machine, as a table of CPU time per request.
 * docs/benchmarks.md says how it measures. Prints no table when any answer of any round was wrong.
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { startBackend } from './backend.mjs';
import { checkGateway } from './checks.mjs';
import { buildTrailgate, installPeers, installTools } from './install.mjs';
import { makePeerKeys } from './keys.mjs';
import { runLoad } from './load.mjs';
import { commit, machineFacts } from './machine.mjs';
import { countedRound } from './measure.mjs';
import { PEERS } from './peers.mjs';
import { cleanUpOnExit, LOAD_CORE, stopAll } from './processes.mjs';
import { caption, summarise, table, warnings, writeDocs, writeResult } from './report.mjs';
import { TRAILGATES } from './trailgate.mjs';
import { wholeNumbers } from './whole-number.mjs';

const ALL = [...PEERS, ...TRAILGATES];
const WARM_UP_SECONDS = 3;

const HELP = `npm run bench -- [options]
  --rounds N         rounds of every gateway (4)
  --seconds N        length of a round (5)
  --connections N    client connections (64)
  --quick            one round of 2 s: a look, not a measurement
  --only a,b         some of: ${ALL.map(({ id }) => id).join(', ')}
  --check            only show that each gateway does its job, no load
  --no-build         measure dist/ as it stands
  --write-docs       put the table into docs/benchmarks.md`;

function readArguments() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string', default: '64' },
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      check: { type: 'boolean', default: false },
      'no-build': { type: 'boolean', default: false },
      'write-docs': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const number = wholeNumbers(values);
  return {
    ...values,
    rounds: number('rounds', values.quick ? 1 : 4, 100),
    seconds: number('seconds', values.quick ? 2 : 5, 600),
    connections: number('connections', 64, 4_000),
    chosen: chosenGateways(values.only),
  };
}

function chosenGateways(only) {
  if (only === undefined) return ALL;
  const ids = only.split(',');
  const unknown = ids.filter((id) => !ALL.some((gateway) => gateway.id === id));
  if (unknown.length > 0) throw new Error(`--only: no gateway called ${unknown.join(', ')}`);
  return ALL.filter(({ id }) => ids.includes(id));
}

async function bench({ chosen, rounds, seconds, connections, check, 'no-build': built, 'write-docs': docs }) {
  installTools();
  installPeers();
  if (!built && chosen.some((gateway) => TRAILGATES.includes(gateway))) buildTrailgate();
  const machine = machineFacts();
  execFileSync('taskset', ['-pc', String(LOAD_CORE), String(process.pid)], { stdio: 'ignore' });
  const keys = makePeerKeys();
  const gateways = [];
  for (const kind of chosen) {
    console.error(`${kind.id}: starting`);
    const backend = await startBackend(kind.id);
    const gateway = { ...kind, ...(await kind.start({ backend, keys })), backend, rounds: [] };
    await checkGateway(gateway);
    if (!check) await runLoad(gateway, { seconds: WARM_UP_SECONDS, connections });
    gateways.push(gateway);
  }
  if (check) return console.log(`${gateways.map(({ id }) => id).join(', ')}: each does its job.`);
  const settings = { rounds, seconds, connections };
  await measure(gateways, settings);
  const result = { commit: commit(), date: new Date().toISOString(), machine, settings, gateways: summarise(gateways) };
  console.log(`\n${caption(result)}\n\n${table(result.gateways)}\n`);
  for (const line of warnings(result.gateways)) console.log(line);
  console.log(`Written to ${writeResult(result)}`);
  if (docs) writeDocs(result);
}

/** Every round begins with another gateway, so that none has the better place. */
async function measure(gateways, settings) {
  for (let round = 0; round < settings.rounds; round++) {
    for (let turn = 0; turn < gateways.length; turn++) {
      const gateway = gateways[(turn + round) % gateways.length];
      try {
        gateway.rounds.push(await countedRound(gateway, settings, gateway.id));
      } catch (error) {
        throw new Error(`${gateway.id}, round ${round + 1}: ${error.message}. No table.`, { cause: error });
      }
    }
  }
}

cleanUpOnExit();
let options;
try {
  options = readArguments();
  if (options.help) console.log(HELP);
  else await bench(options);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await stopAll();
}
process.exit();
