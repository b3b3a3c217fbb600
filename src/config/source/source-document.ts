/** Reads YAML and JSON files, and locates their parts, so that each problem has a line and a column. */
import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { Document, LineCounter, ParsedNode, Range, Scalar, YAMLMap } from 'yaml';
import { decodeText, type TextFault } from './decode-text.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import { formatPath } from '../model/problem.js';
import { isPlainJson, JsonPositions } from './plain-json.js';
import { readBytes, type FileFault } from './read-file.js';
import { documentFaults } from './yaml-checks.js';
import { parseText, type TextBounds } from './yaml-parse.js';

/** Side of a `key: value` pair at which a problem is located. */
export type Side = 'key' | 'value';

/** Result of `SourceDocument.read`. */
export interface SourceReading {
  /** Undefined if the file cannot be read or parsed. */
  readonly source?: SourceDocument;
  readonly problems: ConfigProblem[];
  /** Why the file could not be read. The caller reports this fault at the setting that names the file. */
  readonly unreadable?: FileFault;
}

interface ParsedSource {
  readonly document: Document.Parsed<ParsedNode>;
  readonly lines: LineCounter;
}

/** SourceDocument holds a parsed file and locates problems in it. Plain JSON is parsed as YAML only when needed. */
export class SourceDocument {
  /** Cache of pairs by key, for maps in which a position was looked up. Avoids a search through all keys. */
  private readonly pairs = new WeakMap<YAMLMap, ReadonlyMap<string, YAMLMap['items'][number]>>();

  private constructor(
    readonly file: string,
    /** Text of the file. */
    readonly text: string,
    /** YAML tree of the file. Undefined for plain JSON until a method needs the tree. */
    private parsed: ParsedSource | undefined,
    private readonly json: JsonPositions | undefined,
  ) {}

  /**
   * Reads and parses a file. Never throws, and the bounds limit the time. A file that is too large or cannot be opened
   * gives `unreadable`, and an invalid file gives problems. With duplicate keys, there are problems, but also a
   * `source` for further checks.
   */
  static async read(file: string, bounds: TextBounds): Promise<SourceReading> {
    const read = await readBytes(file, bounds.bytes);
    if ('fault' in read) return { problems: [], unreadable: read.fault };
    const { text, fault } = decodeText(read.bytes);
    if (fault !== undefined) return { problems: [problemAt(file, fault, positionIn(text, fault.offset))] };
    if (isPlainJson(read.bytes, text, bounds)) {
      return { source: new SourceDocument(file, text, undefined, new JsonPositions(text)), problems: [] };
    }
    const { document, lines, faults } = parseText(text, bounds, file.endsWith('.json'));
    if (document === undefined) {
      return { problems: faults.map((each) => problemAt(file, each, positionIn(text, each.offset))) };
    }
    const found = documentFaults(document, bounds);
    const problems = [...faults, ...found.faults].map((each) => problemAt(file, each, lines.linePos(each.offset)));
    if (faults.length > 0 || !found.hasValue) return { problems };
    return { source: new SourceDocument(file, text, { document, lines }, undefined), problems };
  }

  /** Creates a problem at a path. If the part does not exist, the problem is located at the nearest existing parent. */
  problem(path: DocumentPath, message: string, hint: string, side: Side = 'value'): ConfigProblem {
    const { lines } = this.json ?? this.tree;
    const { line, col: column } = lines.linePos(this.offsetOf(path, side));
    return { file: this.file, line, column, path: formatPath(path), message, hint };
  }

  /**
   * Returns the number at a path in its original spelling, such as `1.10` instead of 1.1. Returns undefined for other
   * values.
   */
  numberText(path: DocumentPath): string | undefined {
    if (this.json !== undefined) {
      const { part, isFound } = this.json.find(path);
      return isFound ? this.json.numberAt(part.value) : undefined;
    }
    const node = this.tree.document.getIn(path, true);
    return isScalar(node) && typeof node.value === 'number' ? node.source : undefined;
  }

  /** Returns the document as plain data. The data includes values that `visitScalars` has changed. */
  toJS(): unknown {
    // The expansion of aliases was already limited when the file was read.
    return this.json === undefined || this.parsed !== undefined
      ? this.tree.document.toJS({ maxAliasCount: -1 })
      : this.json.value();
  }

  /**
   * Calls `visit` with every scalar value and its path. Keys are not visited. `visit` may change the value of the
   * scalar.
   */
  visitScalars(visit: (scalar: Scalar, path: DocumentPath) => void): void {
    const walk = (node: unknown, path: DocumentPath): void => {
      if (isScalar(node)) visit(node, path);
      else if (isSeq(node)) for (const [index, item] of node.items.entries()) walk(item, [...path, index]);
      else if (isMap(node)) for (const { key, value } of node.items) walk(value, [...path, nameOf(key)]);
    };
    walk(this.tree.document.contents, []);
  }

  private get tree(): ParsedSource {
    this.parsed ??= parsePlainJson(this.text);
    return this.parsed;
  }

  private offsetOf(path: DocumentPath, side: Side): number {
    return this.json === undefined ? this.offsetInTree(path, side) : offsetInJson(this.json, this.text, path, side);
  }

  private offsetInTree(path: DocumentPath, side: Side): number {
    let node: unknown = this.tree.document.contents;
    let offset = rangeOf(node)?.[0] ?? 0;
    for (const [depth, part] of path.entries()) {
      if (isAlias(node)) node = node.resolve(this.tree.document);
      let key: unknown;
      if (isMap(node)) {
        const pair = this.pairsOf(node as YAMLMap).get(String(part));
        [key, node] = [pair?.key, pair?.value];
      } else {
        node = isSeq(node) ? node.items[Number(part)] : undefined;
      }
      const isLast = depth === path.length - 1;
      // A block map or list begins on the line after its key. Problems are easier to find at the key.
      const preferKey =
        key !== undefined && (side === 'key' || !isLast || !isScalar(node) || node.range?.[0] === node.range?.[1]);
      const range = rangeOf(preferKey ? key : node) ?? rangeOf(key);
      if (range === undefined) return offset;
      offset = range[0];
    }
    return offset;
  }

  private pairsOf(map: YAMLMap): ReadonlyMap<string, YAMLMap['items'][number]> {
    let pairs = this.pairs.get(map);
    if (pairs === undefined) this.pairs.set(map, (pairs = new Map(map.items.map((pair) => [nameOf(pair.key), pair]))));
    return pairs;
  }
}

/** Returns the offset of a part in JSON. Like `offsetInTree`, prefers the key unless the value is a scalar. */
function offsetInJson(json: JsonPositions, text: string, path: DocumentPath, side: Side): number {
  const { part, isFound } = json.find(path);
  const isScalarValue = isFound && !/[{[]/.test(text[part.value] ?? '');
  return side === 'value' && isScalarValue ? part.value : (part.key ?? part.value);
}

/** Parses plain JSON as YAML, without bounds, because `isPlainJson` has already checked the text. */
function parsePlainJson(text: string): ParsedSource {
  const { document, lines } = parseText(text, { bytes: Infinity, tokens: Infinity }, true);
  if (document === undefined) throw new Error('The YAML parser refuses a text that JSON allows');
  return { document, lines };
}

function problemAt(
  file: string,
  { message, hint }: TextFault,
  { line, col }: { readonly line: number; readonly col: number },
): ConfigProblem {
  return { file, line, column: col, path: '', message, hint };
}

/** Computes the line and column of an offset, for a text that the parser has not read completely. */
function positionIn(text: string, offset: number): { line: number; col: number } {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, col: offset - before.lastIndexOf('\n') };
}

function nameOf(key: unknown): string {
  return isScalar(key) ? String(key.value) : '';
}

function rangeOf(node: unknown): Range | undefined {
  return (node as { range?: Range | null } | null | undefined)?.range ?? undefined;
}
