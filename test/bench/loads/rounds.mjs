/** Measures the rows of a load in turn, over several rounds. */
import { runLoad } from '../load.mjs';
import { measureRoundWithRetries, measureVerifiedInterval } from '../measure.mjs';
import { summarize } from '../report.mjs';

const WARM_UP_SECONDS = 2;
const CONNECTIONS = 64;

/**
 * Measures every row. With `check`, only runs a short interval in which all responses are checked. Each round starts
 * with a different row. Rejects if a response was wrong.
 * @param {{ id: string, title: string, gateway: object, request?: import('../load.mjs').LoadRequest,
 *   connections?: number, leastSeconds?: number, warmUpSeconds?: number, core?: string }[]} rows `leastSeconds`:
 *   minimum duration of a round; `warmUpSeconds`: duration of the warm-up, longer if more code must be compiled
 * @param {{ rounds: number, seconds: number, check: boolean, quick: boolean }} settings
 * @returns {Promise<object[]>} result of `summarize`; empty with `check`
 */
export async function measureRows(rows, { rounds, seconds, check, quick }) {
  const measured = rows.map((row) => ({ ...row, rounds: [] }));
  for (const row of measured) {
    await inTurn(row, () => (check ? measureVerifiedInterval(row.gateway, settingsOf(row)) : warmUp(row)));
    if (check) console.error(`${row.id}: every response was correct`);
  }
  if (check) return [];
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < measured.length; turn++) {
      const row = measured[(turn + round) % measured.length];
      const settings = { ...settingsOf(row), seconds: Math.max(seconds, row.leastSeconds ?? 0), keepLost: quick };
      await inTurn(row, async () => row.rounds.push(await measureRoundWithRetries(row.gateway, settings, row.id)));
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
