/**
 * Returns memory to the system when the process is idle after a burst of work (decision 0028). After a burst, V8 keeps
 * a large young generation, and garbage in the old generation, until the next collection. An idle process may not
 * collect for minutes. V8 also keeps fragmented pages, because compaction stops the event loop.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

const INTERVAL_MS = 5_000;
/**
 * Maximum number of bytes allocated in an idle interval. V8 shrinks the young generation when the allocation rate is
 * below 1 MB per second.
 */
const IDLE_BYTES = 2_500_000;
/** Number of bytes allocated since the last collection that makes another collection worthwhile. */
const WORTHWHILE_BYTES = 16 * 1024 * 1024;
/**
 * Number of collections after a burst. The first removes the garbage and resets V8's allocation statistics. The others
 * shrink and compact the heap in parts, so that pauses are short.
 */
const COLLECTIONS = 4;
/**
 * Intervals between collections. V8 sweeps in these intervals, so the next collection does not wait for the sweeping.
 * The process may also become busy again.
 */
const INTERVALS_BETWEEN = 2;
/**
 * Allowed growth of the old generation before the next collection, in percent of the memory in use. By default, V8
 * allows a growth of only a third after an idle time.
 */
const GROWTH_PERCENT = 100;
/**
 * Size of the buffer that makes V8 start a collection. It exceeds V8's threshold of 64 MiB for memory outside of the
 * heap.
 */
const TRIGGER_BYTES = 80 * 1024 * 1024;

/** Heap is the interface to V8, replaced in tests. */
export interface Heap {
  /** Returns the bytes allocated in V8's heap since the start of the process. */
  allocated(): number;
  /** Returns the bytes outside of V8's heap that its objects own, such as bodies. */
  external(): number;
  /** Starts a collection. @param saveMemory also releases pages and compacts, with a longer pause. */
  beginCollection(saveMemory: boolean): void;
}

/** V8 is the heap of this process. */
export const V8: Heap = {
  allocated: () => getHeapStatistics().total_allocated_bytes,
  external: () => getHeapStatistics().external_memory,
  beginCollection,
};

/**
 * Starts watching for the end of bursts. Costs two calls to V8 every five seconds. Does nothing while the process is
 * busy.
 * @returns a function that stops watching
 */
export function releaseMemoryWhenIdle(heap: Heap = V8): () => void {
  let seen = 0;
  let sinceCollected = 0;
  let idleIntervals = 0;
  /** Lowest number of bytes outside of the heap since the last series of collections. */
  let lowestExternal = 0;
  const timer = setInterval(() => {
    const total = heap.allocated();
    const allocated = total - seen;
    seen = total;
    sinceCollected += allocated;
    idleIntervals = allocated > IDLE_BYTES ? 0 : idleIntervals + 1;
    const external = heap.external();
    lowestExternal = Math.min(lowestExternal, external);
    if (external - lowestExternal >= WORTHWHILE_BYTES) sinceCollected = Math.max(sinceCollected, WORTHWHILE_BYTES);
    if (sinceCollected < WORTHWHILE_BYTES || idleIntervals % INTERVALS_BETWEEN !== 1) return;
    heap.beginCollection(idleIntervals > INTERVALS_BETWEEN);
    if (idleIntervals > (COLLECTIONS - 1) * INTERVALS_BETWEEN) {
      sinceCollected = 0;
      lowestExternal = external;
    }
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Lets the heap grow more before a full collection. Otherwise, load after an idle time causes several collections
 * within seconds. Each takes 0.1 s on threads that share the core with the event loop (decision 0028).
 */
export function leaveRoomToGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

/**
 * Starts an incremental collection by allocating a large buffer. The buffer takes no memory because nothing writes to
 * it, but V8 counts its size. `gc()` would need a command line flag, and would stop the event loop for hundreds of
 * milliseconds.
 */
function beginCollection(saveMemory: boolean): void {
  // V8 reads the flag when the collection starts, before `transfer` returns. Collections during requests never see the
  // flag.
  if (saveMemory) setFlagsFromString('--optimize-for-size');
  try {
    new ArrayBuffer(TRIGGER_BYTES).transfer(0);
  } catch {
    // The system refused the allocation. V8 collects later by itself.
  } finally {
    if (saveMemory) setFlagsFromString('--no-optimize-for-size');
  }
}
