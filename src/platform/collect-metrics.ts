/** Collects the metrics of this process, including Node's own, and writes the body of a scrape. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Exposition } from './metrics/exposition.js';
import type { Family } from './metrics/family.js';
import { nodeMetrics } from './metrics/node-metrics.js';
import { METRICS } from './metrics.js';
import { inTurns } from './pace.js';

export interface ReadsGauges {
  /** Updates the gauges. Must be fast and must not throw. */
  readGauges(): void;
}

/**
 * Returns all metrics, including Node's own.
 * @param sources update their gauges first.
 */
export async function collectMetrics(sources: readonly ReadsGauges[]): Promise<Family[]> {
  for (const source of sources) source.readGauges();
  const ours: Family[] = [];
  for (const metric of Object.values(METRICS)) {
    ours.push(metric.read());
    // Requests can run between two metrics.
    await nextTurn();
  }
  return [...ours, ...(await nodeMetrics())];
}

/** Returns the body of a scrape. Yields to requests between two families, and within large families. */
export async function writeMetrics(families: readonly Family[], format: Exposition): Promise<Buffer> {
  const body: Uint8Array[] = [];
  for (const family of families) {
    const parts = [format.head(family)];
    await inTurns(family.series, (series) => void parts.push(format.series(series, family)));
    body.push(format.prefix(parts.reduce((sum, { length }) => sum + length, 0)), ...parts);
    await nextTurn();
  }
  return Buffer.concat([...body, Buffer.from(format.end)]);
}
