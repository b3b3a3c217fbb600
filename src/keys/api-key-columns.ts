/** Converts the JSON columns of API keys. Throws on invalid JSON. */
import { perPeriod } from '../platform/quotas/windows.js';
import type { KeyLimits } from '../quota/model/effective-limits.js';

/** Parses a JSON array of strings. Does not check that the value is one. */
export function parseStrings(json: string): readonly string[] {
  return JSON.parse(json) as string[];
}

/** Parses the limits of a key. Null if only the limits of the plan apply. */
export function parseLimits(json: string | null): KeyLimits | null {
  return json === null ? null : (JSON.parse(json) as KeyLimits);
}

/** Formats the limits of a key for their column. Null if only the limits of the plan apply. */
export function limitsJson(limits: KeyLimits | null): string | null {
  if (limits === null) return null;
  // Write the limits in a fixed order, so that equal limits have equal text. JSON omits undefined limits.
  return JSON.stringify(perPeriod((period) => limits[period]));
}
