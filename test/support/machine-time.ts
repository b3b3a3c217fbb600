/**
 * Time that a program could have used. A test that states "within a second" means a machine with a free processor, so
 * the time that others took is left out. Linux reports waiting times (pressure stall information, `/proc/pressure`).
 * Elsewhere nothing is left out.
 */
import { readFileSync } from 'node:fs';

const FILES = ['/proc/pressure/cpu', '/proc/pressure/io'];
const SAMPLE_INTERVAL_MS = 50;
/** Five minutes: no test takes longer. */
const MAX_SAMPLES = 6_000;

/** Pressure on the machine at one time: total waits for a processor and for a disk since its start. */
interface Sample {
  readonly atMs: number;
  readonly waitedMs: readonly number[];
}

const samples: Sample[] = [sample()];
setInterval(() => {
  samples.push(sample());
  if (samples.length > MAX_SAMPLES) samples.shift();
}, SAMPLE_INTERVAL_MS).unref();

/**
 * How long ago a time by `performance.now()` is, less what somebody on this machine waited for a processor or a disk meanwhile. It is all of the
 * time on a quiet machine, and next to none of it on one that does more than it can.
 */
export function quietMsSince(startMs: number): number {
  const now = sample();
  const waited = now.waitedMs.map((ms, which) => ms - waitedAt(startMs, which, now));
  return Math.max(0, now.atMs - startMs - Math.max(...waited));
}

/** Between the samples before and after it, in proportion. */
function waitedAt(atMs: number, which: number, now: Sample): number {
  const after = samples.findIndex((each) => each.atMs > atMs);
  if (after === 0) return samples[0]!.waitedMs[which]!;
  const [before, next] = after === -1 ? [samples.at(-1)!, now] : [samples[after - 1]!, samples[after]!];
  const part = next.atMs === before.atMs ? 0 : (atMs - before.atMs) / (next.atMs - before.atMs);
  return before.waitedMs[which]! + part * (next.waitedMs[which]! - before.waitedMs[which]!);
}

function sample(): Sample {
  return { atMs: performance.now(), waitedMs: FILES.map(waitedMs) };
}

function waitedMs(file: string): number {
  try {
    const [, micros = '0'] = /^some .*total=(\d+)/m.exec(readFileSync(file, 'utf8')) ?? [];
    return Number(micros) / 1_000;
  } catch {
    return 0;
  }
}
