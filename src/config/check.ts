/** Problems of the configuration as text for people. */
import { relative } from 'node:path';
import type { ConfigProblem } from './problem.js';
import { sortProblems } from './problem.js';

/**
 * One block a file, `file:line:column` first so that terminals and editors can jump there, and the count at the end.
 * @param folder File names are relative to it where that is shorter.
 */
export function formatProblems(
  problems: readonly ConfigProblem[],
  folder = process.cwd(),
  noun: 'problem' | 'warning' = 'problem',
): string {
  const sorted = sortProblems(problems);
  const files = new Set(sorted.map((problem) => problem.file));
  const blocks = Array.from(files, (file) =>
    formatFile(
      shortName(file, folder),
      sorted.filter((problem) => problem.file === file),
    ),
  );
  const count = `${sorted.length} ${noun}${sorted.length === 1 ? '' : 's'}`;
  return [...blocks, files.size > 1 ? `${count} in ${files.size} files` : count].join('\n\n');
}

function formatFile(name: string, problems: readonly ConfigProblem[]): string {
  const places = problems.map((problem) => `${name}:${problem.line}:${problem.column}`);
  const width = Math.max(...places.map((place) => place.length));
  const lines = problems.flatMap((problem, index) => {
    const path = problem.path === '' ? '' : `${problem.path}: `;
    const line = `${places[index]?.padEnd(width)}  ${path}${problem.message}`;
    return problem.hint === undefined ? [line] : [line, `${' '.repeat(width)}    → ${problem.hint}`];
  });
  return lines.join('\n');
}

function shortName(file: string, folder: string): string {
  const name = relative(folder, file);
  return name.length > 0 && name.length < file.length ? name : file;
}
