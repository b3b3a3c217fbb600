/** Collects the metrics of this process for a scrape, including Node's own. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Exposition } from './metrics/exposition.js';
import type { Family } from './metrics/family.js';
import { nodeMetrics } from './metrics/node-metrics.js';
import { METRICS } from './metrics.js';

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
    // Let requests run between two metrics.
    await nextTurn();
  }
  return [...ours, ...(await nodeMetrics())];
}

/** Returns the body of a scrape. */
export async function writeMetrics(families: readonly Family[], { format, end }: Exposition): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (const family of families) {
    parts.push(format(family));
    await nextTurn();
  }
  return Buffer.concat([...parts, Buffer.from(end)]);
}
