/** Which types of events an endpoint wants: names, or families such as `customer.*`. */

const FAMILY = '.*';

/** Whether a type is one of those that are wanted; an empty list wants all. */
export function wantsType(patterns: readonly string[], type: string): boolean {
  return patterns.length === 0 || patterns.some((pattern) => isOf(pattern, type));
}

function isOf(pattern: string, type: string): boolean {
  return pattern.endsWith(FAMILY) ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
