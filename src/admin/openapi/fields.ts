/**
 * Defines field schemas that several resources share, for the OpenAPI document. Responses are not validated against
 * these schemas.
 */
import { z } from 'zod';
import { WINDOW_NAMES } from '../../platform/quotas/windows.js';
import type { IdPrefix } from '../../stores/database/ids.js';

/** Maximum length of an RFC 3339 time with offset, in characters. */
const LONGEST_TIME = 40;

/** Returns the schema of an ID with this prefix, as `newId` generates it. */
export function idField(prefix: IdPrefix): z.ZodString {
  return z
    .string()
    .regex(idPattern(prefix))
    .max(30)
    .meta({ example: `${prefix}_1d2m3kx9v7c4e5f6g7h8j9k0m` });
}

/** Returns the pattern of all IDs with a prefix. */
export function idPattern(prefix: string): RegExp {
  return new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{25}$`);
}

export const timeField = z.iso.datetime({ offset: true }).max(LONGEST_TIME);

/** A non-negative integer, such as a number of requests. */
export const countField = z.int().min(0);

/** The name of a limit, such as `account-month`. */
export const policyField = z.enum(WINDOW_NAMES);

/** The version of a resource, for `If-Match`. */
export const versionField = z
  .int()
  .min(1)
  .meta({ description: 'Increases with every change. Send `"7"` in `If-Match` to change version 7 only.' });
