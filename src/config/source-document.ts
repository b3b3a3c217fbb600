/** A YAML or JSON file that was read: its value, and where each part of it stands, so that a problem has its line. */
import { readFile } from 'node:fs/promises';
import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, ParsedNode, Range, YAMLError } from 'yaml';
import type { ConfigProblem, DocumentPath } from './problem.js';
import { formatPath } from './problem.js';

/** Which end of a `key: value` pair a problem is about. */
export type Side = 'key' | 'value';

/** One parsed file. */
export class SourceDocument {
  private constructor(
    readonly file: string,
    private readonly document: Document.Parsed<ParsedNode>,
    private readonly lines: LineCounter,
    private readonly text: string,
  ) {}

  /**
   * Reads and parses a file. Never throws: a file that cannot be read or parsed is a problem. Duplicate keys are
   * problems too, but the document can still be looked at for others.
   */
  static async read(file: string): Promise<{ source?: SourceDocument; problems: ConfigProblem[] }> {
    let text: string;
    try {
      text = await readFile(file, 'utf8');
    } catch (error) {
      const message = `cannot be read: ${(error as Error).message}`;
      return { problems: [{ file, line: 1, column: 1, path: '', message }] };
    }
    const lines = new LineCounter();
    const document = parseDocument(text, { lineCounter: lines, merge: true, prettyErrors: false });
    const source = new SourceDocument(file, document, lines, text);
    // What follows the first syntax error is mostly its echo.
    const syntaxError = document.errors.find((error) => error.code !== 'DUPLICATE_KEY');
    if (syntaxError !== undefined) return { problems: [source.syntaxProblem(syntaxError)] };
    const problems = document.errors.map((error) => source.syntaxProblem(error));
    return { source, problems };
  }

  /** A problem at a path; a part that does not exist is reported at the nearest parent that does. */
  problem(path: DocumentPath, message: string, hint?: string, side: Side = 'value'): ConfigProblem {
    const position = this.lines.linePos(this.offsetOf(path, side));
    return {
      file: this.file,
      line: position.line,
      column: position.col,
      path: formatPath(path),
      message,
      ...(hint === undefined ? {} : { hint }),
    };
  }

  /** The document as plain data. @throws ReferenceError for aliases that grow without bound. */
  toJS(): unknown {
    return this.document.toJS({ maxAliasCount: 100 });
  }

  /** Calls `replace` with every string value (keys are left alone) and puts its answer in the string's place. */
  replaceStrings(replace: (text: string, path: DocumentPath) => string): void {
    visit(this.document, {
      Scalar: (key, node, ancestors) => {
        if (key === 'key' || typeof node.value !== 'string') return;
        const path = ancestors.flatMap((ancestor, index): (string | number)[] => {
          const child = ancestors[index + 1] ?? node;
          if (isSeq(ancestor)) return [ancestor.items.indexOf(child)];
          if (isMap(ancestor)) {
            const pair = ancestor.items.find((item) => item === child);
            return [isScalar(pair?.key) ? String(pair.key.value) : ''];
          }
          return [];
        });
        node.value = replace(node.value, path);
      },
    });
  }

  private offsetOf(path: DocumentPath, side: Side): number {
    let node: unknown = this.document.contents;
    let offset = rangeOf(node)?.[0] ?? 0;
    for (const [depth, part] of path.entries()) {
      if (isAlias(node)) node = node.resolve(this.document);
      let key: unknown;
      if (isMap(node)) {
        const pair = node.items.findLast((item) => isScalar(item.key) && String(item.key.value) === String(part));
        [key, node] = [pair?.key, pair?.value];
      } else {
        node = isSeq(node) ? node.items[Number(part)] : undefined;
      }
      const isLast = depth === path.length - 1;
      // A block map or list begins on the line below its key; people look for the key.
      const preferKey =
        key !== undefined && (side === 'key' || !isLast || !isScalar(node) || node.range?.[0] === node.range?.[1]);
      const range = rangeOf(preferKey ? key : node) ?? rangeOf(key);
      if (range === undefined) return offset;
      offset = range[0];
    }
    return offset;
  }

  private syntaxProblem(error: YAMLError): ConfigProblem {
    const position = this.lines.linePos(error.pos[0]);
    const at = { file: this.file, line: position.line, column: position.col, path: '' };
    if (error.code === 'DUPLICATE_KEY') {
      const [key = ''] = /^[^:\n]*/.exec(this.text.slice(error.pos[0])) ?? [];
      return { ...at, message: `the key \`${key.trim()}\` stands twice in the same map`, hint: 'keep one of them' };
    }
    const line = this.text.split('\n')[position.line - 1] ?? '';
    const hint = /[{[].*\{/.test(line) ? 'inside { } and [ ] a text that has { or } needs quotes' : undefined;
    return { ...at, message: `is not valid YAML: ${error.message}`, ...(hint === undefined ? {} : { hint }) };
  }
}

function rangeOf(node: unknown): Range | undefined {
  return (node as { range?: Range | null } | null | undefined)?.range ?? undefined;
}
