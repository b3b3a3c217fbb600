/**
 * `npm run bench`: measures the CPU time per request of Trailgate and its peers, in turn on this machine. Prints a
 * table, or an error if any response was wrong. docs/benchmarks.md describes the method.
 */
import { startBackend } from './backend.mjs';
import { checkGateway } from './checks.mjs';
import { installPeers } from './install.mjs';
import { makePeerKeys } from './keys.mjs';
import { runLoad } from './load.mjs';
import { commit, machineFacts } from './machine.mjs';
import { measureRoundWithRetries } from './measure.mjs';
import { PEERS } from './peers.mjs';
import { caption, summarize, table, warnings, writeResult } from './report.mjs';
import { TRAILGATES } from './trailgate.mjs';

const ALL = [...PEERS, ...TRAILGATES];
const WARM_UP_SECONDS = 3;

export const options = {
  rounds: { takes: 'N', about: 'rounds of every gateway', normal: { normal: 4, quick: 1 }, most: 100 },
  seconds: { takes: 'N', about: 'length of a round', normal: { normal: 5, quick: 2 }, most: 600 },
  connections: { takes: 'N', about: 'client connections', normal: 64, most: 4_000 },
  quick: { about: 'one round of 2 s: a look, not a measurement' },
  only: { takes: 'a,b', about: 'some of', among: ALL.map(({ id }) => id) },
  check: { about: 'only show that each gateway does its job, no load' },
};

const chosenOf = ({ only }) => ALL.filter(({ id }) => only === undefined || only.includes(id));

/** Reports whether the options select a gateway that runs the built program. */
export const measuresProgram = (given) => chosenOf(given).some((gateway) => TRAILGATES.includes(gateway));

/**
 * Starts, checks and measures the selected gateways, and writes the result file.
 * @returns the table as Markdown; undefined with --check
 */
export async function measure({ only, rounds, seconds, connections, check }) {
  const chosen = chosenOf({ only });
  installPeers();
  const machine = machineFacts();
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
  if (check) {
    console.log(`${gateways.map(({ id }) => id).join(', ')}: each does its job.`);
    return undefined;
  }
  const settings = { rounds, seconds, connections };
  await measureRounds(gateways, settings);
  const result = { commit: commit(), date: new Date().toISOString(), machine, settings, gateways: summarize(gateways) };
  console.error(`Written to ${writeResult(result)}`);
  const notes = warnings(result.gateways).map((line) => `> ${line}`);
  return [caption(result), table(result.gateways), ...notes].join('\n\n');
}

/** Measures all rounds. Each round starts with a different gateway, so that the order favors none. */
async function measureRounds(gateways, settings) {
  for (let round = 0; round < settings.rounds; round++) {
    for (let turn = 0; turn < gateways.length; turn++) {
      const gateway = gateways[(turn + round) % gateways.length];
      try {
        gateway.rounds.push(await measureRoundWithRetries(gateway, settings, gateway.id));
      } catch (error) {
        throw new Error(`${gateway.id}, round ${round + 1}: ${error.message}. No table.`, { cause: error });
      }
    }
  }
}
