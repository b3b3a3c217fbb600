/**
 * Reads JSON without the YAML parser, and finds the positions of its parts. `JSON.parse` needs a twentieth of the time
 * and memory, which matters for large OpenAPI documents.
 */
import { LineCounter } from 'yaml';
import { measureText } from '../../platform/json/read-json.js';
import type { DocumentPath } from '../model/problem.js';
import { DEEPEST_NESTING, type TextBounds } from './yaml-parse.js';

/** Matches keys that YAML reads differently (`<<`) or that configuration files must not contain (`__proto__`). */
const SPECIAL_NAMES = /"(?:<<|__proto__)"\s*:/;
const OPEN_OBJECT = 0x7b;

/**
 * Reports whether a text is a JSON object for which the YAML parser would return the same value. Returns false in case
 * of doubt. The YAML parser must read such a text, and finds the positions of problems.
 */
export function isPlainJson(bytes: Buffer, text: string, bounds: TextBounds): boolean {
  if (bytes[0] !== OPEN_OBJECT || SPECIAL_NAMES.test(text)) return false;
  const { depth, members, marks } = measureText(bytes);
  if (depth > DEEPEST_NESTING || marks > bounds.tokens) return false;
  try {
    // The text contains a duplicate key twice, but the parsed value contains it only once.
    return countMembers(JSON.parse(text)) === members;
  } catch {
    return false;
  }
}

/** Offsets of a key and its value in the text. The entries of lists have no key. */
interface Part {
  readonly key?: number;
  readonly value: number;
}

/** Matches a string, a bracket, a comma or a colon. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;
const BLANK = /\s*/y;

/**
 * JsonPositions finds the positions of parts of a JSON text. It scans each object and list once, when a caller first
 * needs one of its parts.
 */
export class JsonPositions {
  private readonly parts = new Map<number, ReadonlyMap<string, Part>>();
  private lineCounter: LineCounter | undefined;

  constructor(private readonly text: string) {}

  value(): unknown {
    return JSON.parse(this.text);
  }

  /** Returns the line starts, which convert offsets to lines and columns. */
  get lines(): LineCounter {
    if (this.lineCounter !== undefined) return this.lineCounter;
    const lines = (this.lineCounter = new LineCounter());
    for (let at = 0; at !== -1 && at <= this.text.length;) {
      lines.addNewLine(at);
      const end = this.text.indexOf('\n', at);
      at = end === -1 ? -1 : end + 1;
    }
    return lines;
  }

  /**
   * Returns the part at a path. If the part does not exist, `isFound` is false and `part` is its nearest existing
   * parent.
   */
  find(path: DocumentPath): { readonly part: Part; readonly isFound: boolean } {
    let part: Part = { value: this.skipBlank(0) };
    for (const name of path) {
      const next = this.partsOf(part.value).get(String(name));
      if (next === undefined) return { part, isFound: false };
      part = next;
    }
    return { part, isFound: true };
  }

  /** Returns the number at an offset in its original spelling, such as `1.10`. Returns undefined for other values. */
  numberAt(offset: number): string | undefined {
    const number = /-?\d[\d.eE+-]*/y;
    number.lastIndex = offset;
    return number.exec(this.text)?.[0];
  }

  /**
   * Returns the members of an object, or the entries of a list, that starts at an offset. Returns an empty map for
   * other values.
   */
  private partsOf(offset: number): ReadonlyMap<string, Part> {
    const known = this.parts.get(offset);
    if (known !== undefined) return known;
    const parts = new Map<string, Part>();
    this.parts.set(offset, parts);
    const bracket = this.text[offset];
    if (bracket !== '{' && bracket !== '[') return parts;
    const first = this.skipBlank(offset + 1);
    if (bracket === '[' && this.text[first] !== ']') parts.set('0', { value: first });
    let [depth, key, name] = [0, 0, ''];
    TOKEN.lastIndex = offset;
    for (let found = TOKEN.exec(this.text); found !== null; found = TOKEN.exec(this.text)) {
      const [token] = found;
      if (token === '{' || token === '[') depth++;
      else if (token === '}' || token === ']') depth--;
      else if (depth === 1 && token === ',' && bracket === '[') {
        parts.set(String(parts.size), { value: this.skipBlank(found.index + 1) });
      } else if (depth === 1 && token === ':') {
        parts.set(name, { key, value: this.skipBlank(found.index + 1) });
      } else if (depth === 1 && bracket === '{' && token.startsWith('"')) {
        [key, name] = [found.index, JSON.parse(token) as string];
      }
      if (depth === 0) break;
    }
    return parts;
  }

  private skipBlank(offset: number): number {
    BLANK.lastIndex = offset;
    return offset + (BLANK.exec(this.text)?.[0].length ?? 0);
  }
}

/** Counts the members of all objects in a value. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const values: unknown[] = Object.values(value);
  let count = Array.isArray(value) ? 0 : values.length;
  for (const each of values) count += countMembers(each);
  return count;
}
