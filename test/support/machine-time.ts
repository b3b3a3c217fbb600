/**
 * Measures time as if the machine were idle. A test that promises "within a second" assumes a free CPU, so the time
 * that processes waited is excluded. Linux reports the waits (pressure stall information, `/proc/pressure`). On other
 * systems, nothing is excluded.
 */
import { readFileSync } from 'node:fs';

const FILES = ['/proc/pressure/cpu', '/proc/pressure/io'];
const SAMPLE_INTERVAL_MS = 50;
/** Maximum number of samples: five minutes, which is longer than any test. */
const MAX_SAMPLES = 6_000;

/** Total time since the start of the machine for which any process waited, for the CPU and for the disk. */
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
 * Returns the time since `startMs`, a time by `performance.now()`, minus the time in which any process waited for the
 * CPU or the disk. On an idle machine, this is the whole time. On an overloaded machine, it is close to 0.
 */
export function quietMsSince(startMs: number): number {
  const now = sample();
  const waited = now.waitedMs.map((ms, which) => ms - waitedAt(startMs, which, now));
  return Math.max(0, now.atMs - startMs - Math.max(...waited));
}

/** Returns the total wait at a time, interpolated between the samples before and after it. */
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
