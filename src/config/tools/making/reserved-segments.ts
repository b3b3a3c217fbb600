/**
 * Determines which values of a path parameter would lead to another operation. For example, `export` is reserved for
 * `/customers/{id}` if `/customers/export` exists.
 */

import { isSegmentPattern } from '../../openapi/segment-pattern.js';

/** ReservedSegments indexes the fixed segments of all paths by the path in front of each segment. */
export class ReservedSegments {
  /** Fixed segments and segments such as `{id}:archive`, in lower case, by the path in front of the segment. */
  private readonly byPathBefore = new Map<string, Set<string>>();

  constructor(templates: Iterable<string>) {
    for (const template of templates) {
      for (const { before, segment } of partsOf(template)) {
        if (segment.startsWith('{') && !isSegmentPattern(segment)) continue;
        const known = this.byPathBefore.get(before) ?? new Set<string>();
        this.byPathBefore.set(before, known.add(segment.toLowerCase()));
      }
    }
  }

  /** Returns the reserved values of each parameter of a template, from left to right. */
  reservedValues(template: string): string[][] {
    return partsOf(template)
      .filter(({ segment }) => segment.startsWith('{'))
      .map(({ before }) => [...(this.byPathBefore.get(before) ?? [])].filter((segment) => segment !== ''));
  }
}

/**
 * Splits a template into segments, each with the path in front of it. In that path, `{}` replaces segments that start
 * with a parameter.
 */
function partsOf(template: string): { readonly before: string; readonly segment: string }[] {
  let before = '';
  return template
    .slice(1)
    .split('/')
    .map((segment) => {
      const part = { before, segment };
      before += `/${segment.startsWith('{') ? '{}' : segment}`;
      return part;
    });
}
