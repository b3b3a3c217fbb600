/**
 * Measures the cost of one call of a step: the CPU time of this thread, and the bytes allocated on the JavaScript heap.
 * V8 counts allocations with a granularity of a few hundred kilobytes. Over very many calls, that is one or two bytes
 * per call. The bytes are almost the same on all machines.
 */
import { getHeapStatistics } from 'node:v8';

/** Number of calls until the just-in-time compiler has finished. */
const WARM_UP_CALLS = 30_000;
/** Number of calls until the event loop runs. Otherwise nothing could be written in the background. */
const CALLS_PER_TURN = 64;

const allocatedBytes = () => getHeapStatistics().total_allocated_bytes;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];

/**
 * Measures a step.
 * @param step {run, prepare?, atOnce?, inTurns?, share?}
 *   - `run`: makes one call. With `atOnce` it makes that many calls, and returns a promise for the last one.
 *   - `prepare`: runs before each round, and is not measured
 *   - `inTurns`: lets the event loop run every `CALLS_PER_TURN` calls
 *   - `share`: fraction of the usual number of calls, for a slow step
 * @param amount {rounds, calls, milliseconds}: minimum number of calls and minimum duration of a round
 * @returns {lowestNs, medianNs, bytes} per call
 */
export async function measureStep(step, { rounds, calls, milliseconds }) {
  const { share = 1 } = step;
  await step.prepare?.();
  await runCalls(step, WARM_UP_CALLS * share);
  await step.prepare?.();
  const startedMs = performance.now();
  await runCalls(step, WARM_UP_CALLS * share);
  // The kernel measures CPU time with a resolution of a few milliseconds, so fast steps need more calls.
  const enough = Math.ceil((milliseconds * WARM_UP_CALLS * share) / (performance.now() - startedMs));
  const callsPerRound = Math.max(calls * share, enough);
  const times = [];
  const bytes = [];
  for (let round = 0; round < rounds; round++) {
    await step.prepare?.();
    const bytesBefore = allocatedBytes();
    const before = process.threadCpuUsage();
    await runCalls(step, callsPerRound);
    const { user, system } = process.threadCpuUsage(before);
    bytes.push((allocatedBytes() - bytesBefore) / callsPerRound);
    times.push(((user + system) * 1_000) / callsPerRound);
  }
  return { lowestNs: Math.min(...times), medianNs: median(times), bytes: median(bytes) };
}

async function runCalls({ run, atOnce = 0, inTurns = false }, calls) {
  if (atOnce > 0) {
    for (let done = 0; done < calls; done += atOnce) await run();
  } else if (inTurns) {
    for (let done = 0; done < calls; done += CALLS_PER_TURN) {
      for (let call = 0; call < CALLS_PER_TURN; call++) run();
      await turn();
    }
  } else {
    for (let done = 0; done < calls; done++) run();
  }
}
