/**
 * Determines which values of a path parameter lead to another operation, such as `/customers/export` for
 * `/customers/{id}`.
 */

import { isSegmentPattern } from '../../openapi/segment-pattern.js';

/** ReservedSegments indexes fixed segments by the path before them. */
export class ReservedSegments {
  /** Fixed segments in lower case, and segments such as `{id}:archive`, by the path before them. */
  private readonly beside = new Map<string, Set<string>>();

  constructor(templates: Iterable<string>) {
    for (const template of templates) {
      for (const { before, segment } of partsOf(template)) {
        if (segment.startsWith('{') && !isSegmentPattern(segment)) continue;
        const known = this.beside.get(before) ?? new Set<string>();
        this.beside.set(before, known.add(segment.toLowerCase()));
      }
    }
  }

  /** Returns the reserved values of each parameter, from left to right. */
  of(template: string): string[][] {
    return partsOf(template)
      .filter(({ segment }) => segment.startsWith('{'))
      .map(({ before }) => [...(this.beside.get(before) ?? [])].filter((segment) => segment !== ''));
  }
}

/** Splits a template into segments, each with the normalized path before it. */
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
