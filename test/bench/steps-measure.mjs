/**
 * What one call of a step costs: CPU time of this thread, and the bytes that it allocates on the JavaScript heap, which V8 counts
 * to a few hundred kilobytes: over hundreds of thousands of calls that is a byte or two for each, on every machine the same.
 */
import { getHeapStatistics } from 'node:v8';

/** Calls after which the just-in-time compiler has done what it will do. */
const WARM_UP_CALLS = 30_000;
/** What is written in the background is only written when this thread lets go. */
const CALLS_PER_TURN = 64;

const allocatedBytes = () => getHeapStatistics().total_allocated_bytes;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];

/**
 * Measures a step.
 * @param step {run, prepare?, atOnce?, inTurns?, share?}: `run()` is one call, `prepare()` comes before each round of them, and is not measured. With `atOnce` it is so many, and returns a promise of the last;
 *   `inTurns`: the event loop turns now and then.
 *   `share`: of the calls of other steps, for one that takes much longer
 * @param amount {rounds, calls, milliseconds}: a round has at least so many calls, and lasts so long
 * @returns {lowestNs, medianNs, bytes} for each call
 */
export async function measureStep(step, { rounds, calls, milliseconds }) {
  const { share = 1 } = step;
  await step.prepare?.();
  await runCalls(step, WARM_UP_CALLS * share);
  await step.prepare?.();
  const startedMs = performance.now();
  await runCalls(step, WARM_UP_CALLS * share);
  // The kernel tells CPU time to a few milliseconds: a quick step needs more calls.
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
