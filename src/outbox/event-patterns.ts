/** Matches event types with an endpoint's list of names and families, such as `customer.*`. */

const FAMILY = '.*';

/** Whether a list matches a type. An empty list matches all types. */
export function wantsType(patterns: readonly string[], type: string): boolean {
  return patterns.length === 0 || patterns.some((pattern) => matchesPattern(pattern, type));
}

function matchesPattern(pattern: string, type: string): boolean {
  return pattern.endsWith(FAMILY) ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
