/** Reads and writes the JSON columns of API keys. */
import { perPeriod } from '../platform/quotas/windows.js';
import type { KeyLimits } from '../quota/model/effective-limits.js';

/** Parses a JSON array of strings, without validating it. */
export function parseStrings(json: string): readonly string[] {
  return JSON.parse(json) as string[];
}

/** Parses the limits of a key. Null means that the limits of the plan apply. */
export function parseLimits(json: string | null): KeyLimits | null {
  return json === null ? null : (JSON.parse(json) as KeyLimits);
}

/** Returns the column value for the limits of a key. Null means that the limits of the plan apply. */
export function limitsJson(limits: KeyLimits | null): string | null {
  if (limits === null) return null;
  // The order is fixed, so that equal limits have equal text. JSON omits undefined.
  return JSON.stringify(perPeriod((period) => limits[period]));
}
