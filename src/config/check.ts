/** Formats configuration problems and warnings as text for a terminal. */
import { relative } from 'node:path';
import type { ConfigProblem } from './model/problem.js';
import { sortProblems } from './model/problem.js';

/** Maximum number of problems in the text. A longer list usually has a common cause. */
const MAX_SHOWN = 100;
/** Minimum width of the message column, in characters. */
const MIN_MESSAGE_WIDTH = 40;

/** Options of `formatProblems`. */
export interface ProblemFormat {
  /** Folder to which file names are relative, if that shortens them. Default: the working directory. */
  readonly folder?: string;
  readonly noun?: 'problem' | 'warning';
  /** Width of the terminal in characters. If undefined, lines are not wrapped. */
  readonly columns?: number | undefined;
}

/**
 * Formats problems, grouped by file, with their number at the end. Lines start with `file:line:column`, so that
 * terminals and editors can open that position.
 */
export function formatProblems(problems: readonly ConfigProblem[], format: ProblemFormat = {}): string {
  const { folder = process.cwd(), noun = 'problem', columns = Infinity } = format;
  const sorted = sortProblems(problems);
  const shown = sorted.slice(0, MAX_SHOWN);
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
  const countText = fileCount > 1 ? `${count} in ${fileCount} files` : count;
  const summary = sorted.length > MAX_SHOWN ? `${countText}; the first ${MAX_SHOWN} are shown` : countText;
  return [...blocks, summary].join('\n\n');
}

function formatFile(name: string, problems: readonly ConfigProblem[], columns: number): string {
  const locations = problems.map((problem) => `${name}:${problem.line}:${problem.column}`);
  const width = Math.max(...locations.map((location) => location.length));
  // After a long file name, the line has too little space for the message.
  const isNarrow = columns - width - 2 < MIN_MESSAGE_WIDTH;
  const indent = isNarrow ? 2 : width + 2;
  const lines = problems.flatMap(({ path, message, hint }, index) => {
    const messageLines = wrap(path === '' ? message : `${path}: ${message}`, columns - indent);
    const hintLines = wrap(hint, columns - indent - 4).map((line, at) => `${at === 0 ? '  → ' : '    '}${line}`);
    const location = locations[index] ?? '';
    const [first = '', ...rest] = messageLines;
    const head = isNarrow ? [location, `${' '.repeat(indent)}${first}`] : [`${location.padEnd(width)}  ${first}`];
    return [...head, ...[...rest, ...hintLines].map((line) => ' '.repeat(indent) + line)];
  });
  return lines.join('\n');
}

/** Wraps a text at spaces. A word that is longer than `width` gets its own line. */
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

/** Returns the file name relative to the folder, or the unchanged name if the relative name is not shorter. */
function shortName(file: string, folder: string): string {
  const name = relative(folder, file);
  return name.length > 0 && name.length < file.length ? name : file;
}
