/** Defines schemas for durations, sizes, scopes and similar values in `gateway.yaml`. */
import { z } from 'zod';

const DURATION_UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const SIZE_UNITS_BYTES = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, KB: 1e3, MB: 1e6, GB: 1e9 } as const;

export const INSTANT_MESSAGE = 'must be an instant such as 2027-01-31T10:00:00Z';
export const DATE_MESSAGE = 'must be a date such as 2027-01-31 or 2027-01-31T00:00:00Z';
export const SCOPE_MESSAGE = 'must be resource:verb, for example customers:read';
export const POINTER_MESSAGE = 'must be a JSON Pointer such as /error/message';

/** Maximum delay of Node timers in milliseconds (24.8 days). Timers with a longer delay fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const DURATION_MESSAGE = 'must be a duration such as 500ms, 10s, 5m or 24h';
/** Parses `10s`, `500ms`, `5m`, `24h` or `7d` to milliseconds. */
export const duration = z
  .string(DURATION_MESSAGE)
  .regex(/^\d+(\.\d+)?(ms|s|m|h|d)$/, DURATION_MESSAGE)
  .transform((text) => {
    const [, amount = '', unit = 'ms'] = /^([\d.]+)(ms|s|m|h|d)$/.exec(text) ?? [];
    return Math.round(Number(amount) * DURATION_UNITS_MS[unit as keyof typeof DURATION_UNITS_MS]);
  })
  .refine((ms) => ms >= 1 && ms <= MAX_TIMER_MS, 'must be from 1ms to 24d');

const SHORTEST_KEY_RETENTION_MS = 60_000;
/**
 * Schema of the retention of idempotency keys, in milliseconds. A retention of less than a minute could end before a
 * client retries.
 */
export const keyRetention = duration.refine((ms) => ms >= SHORTEST_KEY_RETENTION_MS, 'must be at least 1m');

const SHORTEST_RETENTION_DAYS = 62;
const LONGEST_RETENTION_DAYS = 3_650;

export const DAYS_MESSAGE = 'must be a number of days such as 400d';
/**
 * Parses `400d` to a number of days. The minimum is two months, because a lost quota counter is restored from the
 * stored counts of its month.
 */
export const days = z
  .string(DAYS_MESSAGE)
  .regex(/^\d{1,6}d$/, DAYS_MESSAGE)
  .transform((text) => Number(text.slice(0, -1)))
  .refine(
    (count) => count >= SHORTEST_RETENTION_DAYS && count <= LONGEST_RETENTION_DAYS,
    `must be from ${SHORTEST_RETENTION_DAYS}d to ${LONGEST_RETENTION_DAYS}d`,
  );

const LONGEST_LOG_DAYS = 90;

export const LOG_DAYS_MESSAGE = `must be from 1d to ${LONGEST_LOG_DAYS}d, or off`;
/** Parses `7d` to a number of days. `off`, `0` and `0d` become 0, which means that no logs are kept. */
export const logDays = z
  .union(
    [z.enum(['off', '0', '0d']), z.literal(0), z.string(LOG_DAYS_MESSAGE).regex(/^\d{1,3}d$/, LOG_DAYS_MESSAGE)],
    LOG_DAYS_MESSAGE,
  )
  .transform((text) => (text === 'off' ? 0 : Number.parseInt(String(text), 10)))
  .refine((count) => count <= LONGEST_LOG_DAYS, LOG_DAYS_MESSAGE);

export const SIZE_MESSAGE = 'must be a size such as 64KiB, 10MiB or 1GiB, or a number of bytes';
/** Parses `1GiB`, `64KiB` or a number to a number of bytes. */
export const size = z.union(
  [
    z.int().min(0),
    z
      .string()
      .regex(/^\d+(\.\d+)?(B|KiB|MiB|GiB|KB|MB|GB)$/, SIZE_MESSAGE)
      .transform((text) => {
        const [, amount = '', unit = 'B'] = /^([\d.]+)([A-Za-z]+)$/.exec(text) ?? [];
        return Math.round(Number(amount) * SIZE_UNITS_BYTES[unit as keyof typeof SIZE_UNITS_BYTES]);
      })
      .refine(Number.isSafeInteger, `must be at most ${Number.MAX_SAFE_INTEGER} bytes`),
  ],
  SIZE_MESSAGE,
);

/** HTTP methods that an entry of `operations` can have. */
export const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'];
export const MATCH_MESSAGE = 'must be METHOD /path, for example GET /customers/{id}';
/** Schema of a method and path, such as `GET /customers/{id}`. */
export const match = z
  .string(MATCH_MESSAGE)
  .regex(/^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|QUERY) \/\S*$/, MATCH_MESSAGE);

/** Matches scopes of the form `resource:verb`, `resource:*` or `*`. */
export const SCOPE_PATTERN = /^[a-z][a-z0-9_-]*:(?:[a-z][a-z0-9_-]*|\*)$|^\*$/;
/** Schema of a scope, such as `customers:read`. */
export const scope = z.string().regex(SCOPE_PATTERN, SCOPE_MESSAGE);

/** Schema of a JSON Pointer (RFC 6901) to a part of a document. */
export const pointer = z.string().regex(/^(\/([^~/]|~[01])*)+$/, POINTER_MESSAGE);
