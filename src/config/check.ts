/** Formats configuration problems for people. */
import { relative } from 'node:path';
import type { ConfigProblem } from './model/problem.js';
import { sortProblems } from './model/problem.js';

/** Maximum number of problems shown. More usually have a common cause. */
const MOST_SHOWN = 100;
/** Minimum width of the message column. */
const LEAST_WORDS_WIDTH = 40;

/** Format options. */
export interface ProblemFormat {
  /** File names are shown relative to it if that is shorter. */
  readonly folder?: string;
  readonly noun?: 'problem' | 'warning';
  /** Width of the terminal. Without it, lines are not wrapped. */
  readonly columns?: number | undefined;
}

/**
 * Formats problems, grouped by file, with the count at the end. Lines start with `file:line:column`, so that terminals
 * and editors can jump there.
 */
export function formatProblems(problems: readonly ConfigProblem[], format: ProblemFormat = {}): string {
  const { folder = process.cwd(), noun = 'problem', columns = Infinity } = format;
  const sorted = sortProblems(problems);
  const shown = sorted.slice(0, MOST_SHOWN);
  const files = new Set(shown.map((problem) => problem.file));
  const blocks = Array.from(files, (file) =>
    formatFile(
      shortName(file, folder),
      shown.filter((problem) => problem.file === file),
      columns,
    ),
  );
  const count = `${sorted.length} ${noun}${sorted.length === 1 ? '' : 's'}`;
  const fileCount = new Set(sorted.map((problem) => problem.file)).size;
  const where = fileCount > 1 ? `${count} in ${fileCount} files` : count;
  const cut = sorted.length > MOST_SHOWN ? `${where}; the first ${MOST_SHOWN} are shown` : where;
  return [...blocks, cut].join('\n\n');
}

function formatFile(name: string, problems: readonly ConfigProblem[], columns: number): string {
  const places = problems.map((problem) => `${name}:${problem.line}:${problem.column}`);
  const width = Math.max(...places.map((place) => place.length));
  // Next to a long file name there is no room for the message.
  const isNarrow = columns - width - 2 < LEAST_WORDS_WIDTH;
  const indent = isNarrow ? 2 : width + 2;
  const lines = problems.flatMap(({ path, message, hint }, index) => {
    const words = wrap(path === '' ? message : `${path}: ${message}`, columns - indent);
    const hints = wrap(hint, columns - indent - 4).map((line, at) => `${at === 0 ? '  → ' : '    '}${line}`);
    const place = places[index] ?? '';
    const [first = '', ...rest] = words;
    const head = isNarrow ? [place, `${' '.repeat(indent)}${first}`] : [`${place.padEnd(width)}  ${first}`];
    return [...head, ...[...rest, ...hints].map((line) => ' '.repeat(indent) + line)];
  });
  return lines.join('\n');
}

/** Wraps a text at spaces. Longer words get their own line. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

function shortName(file: string, folder: string): string {
  const name = relative(folder, file);
  return name.length > 0 && name.length < file.length ? name : file;
}
