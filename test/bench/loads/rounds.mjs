/** Rows of a load in turn, several rounds: what `npm run bench` does with gateways, done with loads. */
import { runLoad } from '../load.mjs';
import { countedRound, verifiedInterval } from '../measure.mjs';
import { summarize } from '../report.mjs';

const WARM_UP_SECONDS = 2;
const CONNECTIONS = 64;

/**
 * Measures every row, or with `check` only looks at a second of its answers. Every round begins with another row.
 * @param {{ id: string, title: string, gateway: object, request?: import('../load.mjs').LoadRequest, connections?: number,
 *   leastSeconds?: number, warmUpSeconds?: number, core?: string }[]} rows `leastSeconds` for a load that needs longer rounds,
 *   `warmUpSeconds` for one that has more to be compiled
 * @param {{ rounds: number, seconds: number, check: boolean, quick: boolean }} settings
 * @returns {Promise<object[]>} as `summarize` makes them; empty with `check`
 */
export async function measureRows(rows, { rounds, seconds, check, quick }) {
  const measured = rows.map((row) => ({ ...row, rounds: [] }));
  for (const row of measured) {
    await inTurn(row, () => (check ? verifiedInterval(row.gateway, settingsOf(row)) : warmUp(row)));
    if (check) console.error(`${row.id}: every answer was right`);
  }
  if (check) return [];
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < measured.length; turn++) {
      const row = measured[(turn + round) % measured.length];
      const settings = { ...settingsOf(row), seconds: Math.max(seconds, row.leastSeconds ?? 0), keepLost: quick };
      await inTurn(row, async () => row.rounds.push(await countedRound(row.gateway, settings, row.id)));
    }
  }
  return summarize(measured);
}

function settingsOf({ connections = CONNECTIONS, request, core }) {
  return { connections, request, core };
}

function warmUp({ gateway, warmUpSeconds = WARM_UP_SECONDS, ...row }) {
  return runLoad(gateway, { ...settingsOf(row), seconds: warmUpSeconds });
}

async function inTurn({ id }, work) {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${id}: ${error.message}. No table.`, { cause: error });
  }
}
