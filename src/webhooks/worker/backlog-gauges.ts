/** Reads now and then how much waits to be delivered, and how endpoints are. Every worker does, and says the same. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { readBacklog } from '../deliveries/backlog.js';
import type { Clock } from '../../platform/clock.js';
import { METRICS } from '../../platform/metrics.js';
import { Rounds } from './rounds.js';

const INTERVAL_MS = 15_000;

/** Begins at once. While the database is away the gauges stay as they were. @returns what reads them no more. */
export function watchBacklog(db: Kysely<Tables>, clock: Clock): { stop(): Promise<void> } {
  const rounds = new Rounds(
    async () => {
      const { endpoints, deliveries } = await readBacklog(db, clock.now());
      for (const status of ['enabled', 'paused', 'disabled'] as const) {
        METRICS.webhookEndpoints.series(status).set(endpoints[status]);
      }
      for (const state of ['due', 'later', 'held', 'paused'] as const) {
        METRICS.webhookBacklog.series(state).set(deliveries[state]);
      }
    },
    () => INTERVAL_MS,
    () => undefined,
  );
  rounds.now();
  return rounds;
}
