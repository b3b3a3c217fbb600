/**
 * Determines which values of a path parameter would lead to another operation. Example: `export` for `/customers/{id}`
 * if there is `/customers/export`.
 */

import { isSegmentPattern } from '../../openapi/segment-pattern.js';

/** ReservedSegments indexes the fixed segments of all paths by the path before them. */
export class ReservedSegments {
  /** Fixed segments and segments such as `{id}:archive`, in lower case, by the path before them. */
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
  of(template: string): string[][] {
    return partsOf(template)
      .filter(({ segment }) => segment.startsWith('{'))
      .map(({ before }) => [...(this.byPathBefore.get(before) ?? [])].filter((segment) => segment !== ''));
  }
}

/** Splits a template into segments, each with the path before it. Parameter names are removed from that path. */
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
