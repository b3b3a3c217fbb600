/** Which values of a path parameter lead to another operation: `/customers/export` beside `/customers/{id}`. */

/** Knows the fixed segments beside every parameter. */
export class ReservedSegments {
  /** Fixed segments, in small letters, by what stands before them. */
  private readonly beside = new Map<string, Set<string>>();

  constructor(templates: Iterable<string>) {
    for (const template of templates) {
      for (const { before, segment } of partsOf(template)) {
        if (segment.startsWith('{')) continue;
        const known = this.beside.get(before) ?? new Set();
        this.beside.set(before, known.add(segment.toLowerCase()));
      }
    }
  }

  /** By the parameters of a template, from left to right. */
  of(template: string): string[][] {
    return partsOf(template)
      .filter(({ segment }) => segment.startsWith('{'))
      .map(({ before }) => [...(this.beside.get(before) ?? [])].filter((segment) => segment !== ''));
  }
}

/** Each segment with all before it, in which every parameter looks the same. */
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
