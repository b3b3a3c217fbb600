/** Rings of minute windows, many in one array: an array for each would cost three times the memory. */
import { MINUTE_BUCKETS } from './sliding-window.js';

/** 61 KiB. */
const RINGS_PER_CHUNK = 512;

/** Room for `RINGS_PER_CHUNK` rings. */
class Chunk {
  readonly counts = new Uint16Array(RINGS_PER_CHUNK * MINUTE_BUCKETS);
  /** Where the free rings begin. */
  readonly free = Array.from({ length: RINGS_PER_CHUNK }, (_, ring) => ring * MINUTE_BUCKETS).toReversed();
}

/** RingPool hands out rings of zeros, and takes them again. */
export class RingPool {
  /** Chunks with a free ring; the last one is used first. */
  private open: Chunk[] = [];
  private readonly chunks = new Map<Uint16Array, Chunk>();

  /** Chunks that are held. */
  get size(): number {
    return this.chunks.size;
  }

  /** A ring of zeros: where it begins, in which array. */
  take(): { readonly counts: Uint16Array; readonly from: number } {
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

  /** Takes a ring back; whoever had it must not use it any more. */
  release(counts: Uint16Array, from: number): void {
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
