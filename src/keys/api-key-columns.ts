/** Columns of a key's row that hold JSON: read on the request path, and by what manages keys. */
import type { KeyLimits } from '../quota/model/effective-limits.js';

/** A JSON array of strings, as our own columns hold them. */
export function parseStrings(json: string): readonly string[] {
  return JSON.parse(json) as string[];
}

/** Limits of a key, as its row holds them. */
export function parseLimits(json: string | null): KeyLimits | null {
  return json === null ? null : (JSON.parse(json) as KeyLimits);
}

/** What the row holds; null for the plan's. */
export function limitsJson(limits: KeyLimits | null): string | null {
  if (limits === null) return null;
  const { minute, month } = limits;
  // In one order, so that equal limits are equal text; JSON leaves undefined out.
  return JSON.stringify({ minute, month });
}
