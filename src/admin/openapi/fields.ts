/** What the fields of resources look like, for the description: nothing that is answered is checked against it. */
import { z } from 'zod';
import { WINDOW_NAMES } from '../../platform/quotas/windows.js';
import type { IdPrefix } from '../../stores/database/ids.js';

/** RFC 3339 with an offset, and microseconds at most. */
const LONGEST_TIME = 40;

/** An id of ours, as `database/ids.ts` makes them. */
export function idField(prefix: IdPrefix): z.ZodString {
  return z
    .string()
    .regex(idPattern(prefix))
    .max(30)
    .meta({ example: `${prefix}_1d2m3kx9v7c4e5f6g7h8j9k0m` });
}

/** What an id of a kind looks like: nothing else was ever given out. */
export function idPattern(prefix: string): RegExp {
  return new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{25}$`);
}

export const timeField = z.iso.datetime({ offset: true }).max(LONGEST_TIME);

/** How many requests: of what, the description of the field says. */
export const countField = z.int().min(0);

export const policyField = z.enum(WINDOW_NAMES);

/** For `If-Match`. */
export const versionField = z
  .int()
  .min(1)
  .meta({ description: 'Grows with every change that somebody makes; `"7"` in `If-Match` is a change on version 7.' });
