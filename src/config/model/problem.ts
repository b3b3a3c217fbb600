/** Defines configuration problems, which `trailgate check` reports, and "did you mean" suggestions. */

/** A problem of the configuration, with the position of the mistake. */
export interface ConfigProblem {
  /** Absolute path of the file. */
  readonly file: string;
  /** Line, starting with 1. */
  readonly line: number;
  /** Column, starting with 1. */
  readonly column: number;
  /** Path in the document, such as `services.customers.targets[0]`. Empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
  /** Advice on how to fix the problem. */
  readonly hint: string;
}

/** A path in a document from its root, with keys of maps and indexes of lists. */
export type DocumentPath = readonly (string | number)[];

/** Formats a path: `['services', 'customers', 'targets', 0]` → `services.customers.targets[0]`. */
export function formatPath(path: DocumentPath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w$-]+$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `["${part}"]`;
  }
  return text;
}

/** Sorts problems by file, position and message, and removes duplicates. */
export function sortProblems(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const sorted = problems.toSorted(
    (a, b) => compare(a.file, b.file) || a.line - b.line || a.column - b.column || compare(a.message, b.message),
  );
  return sorted.filter((problem, index) => {
    const before = sorted[index - 1];
    return before === undefined || JSON.stringify(before) !== JSON.stringify(problem);
  });
}

/** Maximum length of a word that gets a suggestion. Comparing longer words takes too long. */
const MAX_WORD_LENGTH = 100;

/**
 * Suggests the candidate that is most similar to a word, as "did you mean `targets`?". Returns undefined if no
 * candidate is similar.
 */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > MAX_WORD_LENGTH) return undefined;
  let nearest: string | undefined;
  let nearestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= nearestDistance) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < nearestDistance) [nearest, nearestDistance] = [candidate, distance];
  }
  return nearest === undefined ? undefined : `did you mean \`${nearest}\`?`;
}

/** Computes the edit distance with transpositions (optimal string alignment). */
function editDistance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, row) => [row]);
  const at = (row: number, column: number): number => rows[row]?.[column] ?? column;
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const replace = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = swapped ? at(i - 2, j - 2) + 1 : Infinity;
      rows[i]![j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replace, swap);
    }
  }
  return at(a.length, b.length);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
