/** Durations and sizes as people write them in `gateway.yaml`. */
import { z } from 'zod';

const DURATION_UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const SIZE_UNITS_BYTES = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, KB: 1e3, MB: 1e6, GB: 1e9 } as const;

/** Node's timers take no more than this many milliseconds (24.8 days) and fire at once beyond it. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** `10s`, `500ms`, `5m`, `24h`, `7d` → milliseconds. */
export const duration = z
  .string('must be a duration such as 500ms, 10s, 5m or 24h')
  .regex(/^\d+(\.\d+)?(ms|s|m|h|d)$/, 'must be a duration such as 500ms, 10s, 5m or 24h')
  .transform((text) => {
    const [, amount = '', unit = 'ms'] = /^([\d.]+)(ms|s|m|h|d)$/.exec(text) ?? [];
    return Math.round(Number(amount) * DURATION_UNITS_MS[unit as keyof typeof DURATION_UNITS_MS]);
  })
  .refine((ms) => ms >= 1 && ms <= MAX_TIMER_MS, 'must be from 1ms to 24d');

const SHORTEST_RETENTION_DAYS = 62;
const LONGEST_RETENTION_DAYS = 3_650;

/** `400d` → days. At least two months: a counter that is missing begins again from what is kept of its month. */
export const days = z
  .string('must be a number of days such as 400d')
  .regex(/^\d{1,6}d$/, 'must be a number of days such as 400d')
  .transform((text) => Number(text.slice(0, -1)))
  .refine(
    (count) => count >= SHORTEST_RETENTION_DAYS && count <= LONGEST_RETENTION_DAYS,
    `must be from ${SHORTEST_RETENTION_DAYS}d to ${LONGEST_RETENTION_DAYS}d`,
  );

const SIZE_MESSAGE = 'must be a size such as 64KiB, 10MiB or 1GiB, or a number of bytes';
/** `1GiB`, `64KiB`, or a plain number of bytes → bytes. */
export const size = z.union(
  [
    z.int().min(0),
    z
      .string()
      .regex(/^\d+(\.\d+)?(B|KiB|MiB|GiB|KB|MB|GB)$/, SIZE_MESSAGE)
      .transform((text) => {
        const [, amount = '', unit = 'B'] = /^([\d.]+)([A-Za-z]+)$/.exec(text) ?? [];
        return Math.round(Number(amount) * SIZE_UNITS_BYTES[unit as keyof typeof SIZE_UNITS_BYTES]);
      }),
  ],
  SIZE_MESSAGE,
);
