/**
 * Allocates the rings of minute windows in shared arrays. A ring has one count per second. A separate array per ring
 * would take three times the memory.
 */
import { MINUTE_BUCKETS } from './sliding-window.js';

/** Number of rings in a chunk. A chunk takes 61 KiB. */
const RINGS_PER_CHUNK = 512;

/** Chunk is an array for `RINGS_PER_CHUNK` rings. */
class Chunk {
  readonly counts = new Uint16Array(RINGS_PER_CHUNK * MINUTE_BUCKETS);
  /** Offsets of the free rings. */
  readonly free = Array.from({ length: RINGS_PER_CHUNK }, (_, ring) => ring * MINUTE_BUCKETS).toReversed();
}

export class RingPool {
  /** Chunks with a free ring. `allocateRing` uses the last chunk. */
  private open: Chunk[] = [];
  private readonly chunks = new Map<Uint16Array, Chunk>();

  /** Number of allocated chunks. */
  get size(): number {
    return this.chunks.size;
  }

  /** Returns a ring of zeros, as an array and the offset of the ring in it. */
  allocateRing(): { readonly counts: Uint16Array; readonly from: number } {
    let chunk = this.open.at(-1);
    if (chunk === undefined) {
      chunk = new Chunk();
      this.open.push(chunk);
      this.chunks.set(chunk.counts, chunk);
    }
    const from = chunk.free.pop() ?? 0;
    if (chunk.free.length === 0) this.open.pop();
    return { counts: chunk.counts, from };
  }

  /** Frees a ring. The caller must no longer use the ring. */
  releaseRing(counts: Uint16Array, from: number): void {
    const chunk = this.chunks.get(counts);
    if (chunk === undefined) return;
    counts.fill(0, from, from + MINUTE_BUCKETS);
    chunk.free.push(from);
    if (chunk.free.length === 1) this.open.unshift(chunk);
    if (chunk.free.length === RINGS_PER_CHUNK && this.open.length > 1) {
      this.open = this.open.filter((other) => other !== chunk);
      this.chunks.delete(counts);
    }
  }
}
