/**
 * Paths with a parameter that is only part of a segment, such as `/customers/{id}:archive`. The gateway does not route
 * them, so their operations are left out. They must not be reachable as another operation either.
 */
import type { ConfigProblem } from '../model/problem.js';

/** An unpublished path of a document. */
export interface PartialPath {
  readonly template: string;
  readonly service: string;
  readonly methods: readonly string[];
  /** The problem, located at the path. */
  readonly problem: ConfigProblem;
}

interface Published {
  readonly method: string;
  readonly template: string;
  readonly service: string;
}

/**
 * Returns a warning for each omitted path, and a problem for each that a published operation would match. For example,
 * `POST /customers/{id}` matches `POST /customers/1:archive`, with the wrong scopes.
 */
export function checkPartialPaths(
  paths: readonly PartialPath[],
  operations: readonly Published[],
): { readonly problems: ConfigProblem[]; readonly warnings: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  for (const path of paths) {
    const { problem } = path;
    const taker = operations.find((operation) => matchesRequests(operation, path));
    if (taker === undefined) {
      const message = `${problem.message}, so its operations are left out`;
      warnings.push({ ...problem, message, hint: 'they are not reachable; give them paths of whole segments' });
    } else {
      const message = `${problem.message}, and ${taker.method} ${taker.template} would take its requests`;
      problems.push({ ...problem, message });
    }
  }
  return { problems, warnings };
}

function matchesRequests(operation: Published, { template, service, methods }: PartialPath): boolean {
  if (operation.service !== service || !methods.map(asGet).includes(asGet(operation.method))) return false;
  const [own, others] = [operation.template.split('/'), template.split('/')];
  return own.length === others.length && own.every((segment, at) => segmentsOverlap(segment, others[at] ?? ''));
}

/** Maps HEAD to GET, because operations serve both. */
function asGet(method: string): string {
  return method === 'HEAD' ? 'GET' : method;
}

/** Reports whether some text matches both a segment of a published template and a partial segment. */
function segmentsOverlap(segment: string, partial: string): boolean {
  if (segment.startsWith('{')) return true;
  const pattern = partial.split(/\{[^{}]+\}/).map((text) => text.replaceAll(/[^A-Za-z0-9]/g, '\\$&'));
  return new RegExp(`^${pattern.join('.+')}$`, 'i').test(segment);
}
