/**
 * Returns memory to the system when the process is idle after a burst of work (decision 0028). V8 keeps a large young
 * generation and garbage in the old one until the next collection. An idle process does not reach that for minutes. V8
 * also keeps fragmented pages, because compaction stops the event loop.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

const INTERVAL_MS = 5_000;
/** Maximum allocation per interval of an idle process. V8 shrinks the young generation below 1 MB per second. */
const QUIET_BYTES = 2_500_000;
/** Minimum allocation since the last collection for another one. */
const WORTH_BYTES = 16 * 1024 * 1024;
/**
 * Collections after a burst. The first removes the garbage and resets V8's allocation statistics. The others shrink and
 * compact the heap in parts, so that pauses are short.
 */
const COLLECTIONS = 4;
/**
 * Intervals between collections. V8 sweeps meanwhile, which the next collection would wait for, and the process may
 * become busy again.
 */
const INTERVALS_BETWEEN = 2;
/**
 * Growth of the old generation before the next collection, in percent of the memory in use. V8's own value after an
 * idle time is a third.
 */
const GROWTH_PERCENT = 100;
/** Above V8's threshold of 64 MiB for memory outside of its heap. */
const NUDGE_BYTES = 80 * 1024 * 1024;

/** Heap is the interface to V8, replaced in tests. */
export interface Heap {
  /** Returns the bytes allocated in V8's heap since the start of the process. */
  allocated(): number;
  /** Returns the bytes outside of V8's heap that its objects own, such as bodies. */
  external(): number;
  /** Starts a collection. @param saveMemory also releases pages and compacts, with a longer pause. */
  beginCollection(saveMemory: boolean): void;
}

/** The heap of this process. */
export const V8: Heap = {
  allocated: () => getHeapStatistics().total_allocated_bytes,
  external: () => getHeapStatistics().external_memory,
  beginCollection,
};

/**
 * Starts watching for the end of bursts. Costs one call to V8 every five seconds. Does nothing while the process is
 * busy.
 * @returns a function that stops watching.
 */
export function giveMemoryBackWhenIdle(heap: Heap = V8): () => void {
  let seen = 0;
  let sinceCollected = 0;
  let quietIntervals = 0;
  /** Bytes outside of the heap at the last idle minimum or collection. */
  let externalBefore = 0;
  const timer = setInterval(() => {
    const total = heap.allocated();
    const allocated = total - seen;
    seen = total;
    sinceCollected += allocated;
    quietIntervals = allocated > QUIET_BYTES ? 0 : quietIntervals + 1;
    const external = heap.external();
    externalBefore = Math.min(externalBefore, external);
    if (external - externalBefore >= WORTH_BYTES) sinceCollected = Math.max(sinceCollected, WORTH_BYTES);
    if (sinceCollected < WORTH_BYTES || quietIntervals % INTERVALS_BETWEEN !== 1) return;
    heap.beginCollection(quietIntervals > INTERVALS_BETWEEN);
    if (quietIntervals > (COLLECTIONS - 1) * INTERVALS_BETWEEN) {
      sinceCollected = 0;
      externalBefore = external;
    }
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Lets the heap grow more before a full collection. Otherwise, load after an idle time causes several collections within
 * seconds. Each takes 0.1 s on threads that share the core with the event loop (decision 0028).
 */
export function leaveRoomToGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

/**
 * Starts an incremental collection by allocating a large buffer. The buffer takes no memory because it is never used,
 * but V8 counts it. `gc()` would need a command line flag, and stops the event loop for hundreds of milliseconds.
 */
function beginCollection(saveMemory: boolean): void {
  // V8 reads the flag at the start of the collection, before `transfer` returns. It never applies to a request.
  if (saveMemory) setFlagsFromString('--optimize-for-size');
  try {
    new ArrayBuffer(NUDGE_BYTES).transfer(0);
  } catch {
    // The system refused the allocation. V8 collects when it must.
  } finally {
    if (saveMemory) setFlagsFromString('--no-optimize-for-size');
  }
}
