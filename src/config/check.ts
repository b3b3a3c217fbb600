/** Problems of the configuration as text for people. */
import { relative } from 'node:path';
import type { ConfigProblem } from './model/problem.js';
import { sortProblems } from './model/problem.js';

/** Whoever has more of them has one cause for most; a terminal and a log line have room for so many. */
const MOST_SHOWN = 100;
/** Words that are set in a narrower column are hard to read. */
const LEAST_WORDS_WIDTH = 40;

/** How problems are shown. */
export interface ProblemFormat {
  /** File names are relative to it where that is shorter. */
  readonly folder?: string;
  readonly noun?: 'problem' | 'warning';
  /** Columns of the terminal; without it no line is broken. */
  readonly columns?: number | undefined;
}

/**
 * One block a file, `file:line:column` first so that terminals and editors can jump there, and the count at the end.
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
  // Beside a long name there is no room for words.
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

/** Breaks a text between words; a word that is too long has a line of its own. */
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
