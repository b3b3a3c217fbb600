/**
 * Gives back what a burst of work has left, once the process is quiet. V8 keeps the young generation as large as
 * the burst made it, and garbage in the old one, until its next collection, which a process that allocates next to
 * nothing does not reach for minutes; and pages of which little is still in use, because moving that together
 * stops the event loop (decision 0028).
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

const INTERVAL_MS = 5_000;
/** In an interval. V8 shrinks the young generation where a second brings less than 1 MB. */
const QUIET_BYTES = 2_500_000;
/** Less work than this leaves nothing that is worth a collection. */
const WORTH_BYTES = 16 * 1024 * 1024;
/**
 * The first clears away what the burst left, and is the one by which V8 sees how little comes after it; the others
 * shrink, and move together what is left, each of them a part, so that no pause is long.
 */
const COLLECTIONS = 4;
/**
 * Time for V8 to sweep what a collection has left, which the next would have to wait
 * for, and for a process to be busy again.
 */
const INTERVALS_BETWEEN = 2;
/**
 * Of what is in use, before V8 collects the old generation again. By itself it takes
 * a third where little happened before.
 */
const GROWTH_PERCENT = 100;
/** Above V8's threshold of 64 MiB for memory outside of its heap. */
const NUDGE_BYTES = 80 * 1024 * 1024;

/** What this stands on; others in tests. */
export interface Heap {
  /** Bytes since the process began, without those outside of V8's heap. */
  allocated(): number;
  /** Bytes outside of V8's heap that it will give back when it collects, or holds: bodies on their way. */
  external(): number;
  /** `saveMemory`: gives pages back at once, and moves objects together, for a longer pause. */
  beginCollection(saveMemory: boolean): void;
}

/** The real one. */
export const V8: Heap = {
  allocated: () => getHeapStatistics().total_allocated_bytes,
  external: () => getHeapStatistics().external_memory,
  beginCollection,
};

/**
 * Watches for the end of bursts until the returned function is called. Costs one call of V8 in five seconds; a process
 * that goes on working is left to V8.
 */
export function giveMemoryBackWhenIdle(heap: Heap = V8): () => void {
  let seen = 0;
  let sinceCollected = 0;
  let quietIntervals = 0;
  /** What was outside of the heap when it was last quiet and small, or had been collected. */
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
 * Lets the heap grow before V8 collects all of it again, also after a quiet time: else the load that ends it
 * would meet several collections within seconds, each with a tenth of a second on the threads that share the core
 * with the event loop (decision 0028).
 */
export function leaveRoomToGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

/**
 * A buffer that nobody touches takes no memory, but V8 counts it and begins to mark: in small steps and
 * beside the event loop, while `gc()`, which would have to be asked for on the command line, stops the
 * event loop for hundreds of milliseconds.
 */
function beginCollection(saveMemory: boolean): void {
  // V8 reads it where a collection begins, which is before `transfer` returns: it never holds for a request.
  if (saveMemory) setFlagsFromString('--optimize-for-size');
  try {
    new ArrayBuffer(NUDGE_BYTES).transfer(0);
  } catch {
    // A system that does not even promise so much: then V8 collects when it has to.
  } finally {
    if (saveMemory) setFlagsFromString('--no-optimize-for-size');
  }
}
