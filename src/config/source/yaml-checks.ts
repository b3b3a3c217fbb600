/**
 * Checks a YAML document for faults that the parser does not report, such as duplicate keys and unsupported tags. Other
 * examples are aliases that are undefined, recursive or expand too much.
 */
import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { Alias, Document, Pair, ParsedNode, Scalar, YAMLMap } from 'yaml';
import type { TextFault } from './decode-text.js';
import type { TextBounds } from './yaml-parse.js';

const MERGE_KEY = '<<';

/** Result of `documentFaults`. `hasValue` is false if a fault makes the value of the document unusable. */
export interface DocumentFaults {
  readonly faults: readonly TextFault[];
  readonly hasValue: boolean;
}

/** Returns the faults of a document. `bounds.tokens` limits the number of values that aliases may repeat. */
export function documentFaults(
  { contents, directives, warnings }: Document.Parsed<ParsedNode>,
  bounds: TextBounds,
): DocumentFaults {
  const walk = new Walk(
    bounds.tokens,
    warnings.map(({ message }) => message),
  );
  if (directives.yaml.explicit === true && directives.yaml.version !== '1.2') {
    const message = `is read as YAML 1.2, not ${directives.yaml.version}`;
    walk.faults.push({ offset: 0, message, hint: 'remove the line that begins with %YAML' });
  }
  walk.visitNode(contents);
  return walk;
}

/**
 * A value with an anchor. `size` is its number of values, including expanded aliases. `open` is true during the
 * traversal of the value, when an alias to it would be recursive.
 */
interface Anchored {
  size: number;
  open: boolean;
  readonly isMap: boolean;
}

class Walk {
  readonly faults: TextFault[] = [];
  hasValue = true;
  /**
   * Anchored values by name. If an anchor occurs several times, an alias refers to the last occurrence before the
   * alias.
   */
  private readonly anchors = new Map<string, Anchored>();

  /** Number of values that aliases have repeated so far. */
  private repeated = 0;

  constructor(
    private readonly maxValues: number,
    private readonly parserWarnings: readonly string[],
  ) {}

  /**
   * Traverses a value and reports its faults.
   * @returns the number of values in it, including those that aliases repeat
   */
  visitNode(node: unknown): number {
    if (isAlias(node)) return this.visitAlias(node);
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) return 1;
    const anchored: Anchored = { size: 1, open: true, isMap: isMap(node) };
    if (node.tag !== undefined) {
      this.checkTag(node, node.tag);
    }
    if (node.anchor !== undefined) this.anchors.set(node.anchor, anchored);
    if (isMap(node)) anchored.size += this.visitMap(node as YAMLMap);
    else if (isSeq(node)) for (const item of node.items) anchored.size += this.visitNode(item);
    anchored.open = false;
    return anchored.size;
  }

  /** Reports a tag, unless the parser has already warned about this tag. */
  private checkTag(node: unknown, tag: string): void {
    if (this.parserWarnings.some((message) => message.includes(tag))) return;
    this.report(node, `the tag \`${shortTag(tag)}\` is not supported`, 'remove it');
  }

  private visitAlias(alias: Alias): number {
    const target = this.anchors.get(alias.source);
    if (target === undefined) {
      const message = `\`*${alias.source}\` is an alias, and nothing before it is marked \`&${alias.source}\``;
      this.refuse(alias, message, 'mark what it should repeat, or put a text that begins with * in quotes');
      return 1;
    }
    if (target.open) {
      const message = `\`*${alias.source}\` stands within the value that it repeats`;
      this.refuse(alias, message, 'an alias cannot lead in a circle: write the value out');
      return 1;
    }
    this.repeated += target.size;
    if (this.repeated > this.maxValues) {
      this.repeated = -Infinity; // Report this fault only once.
      const message = `the aliases up to \`*${alias.source}\` repeat more than ${this.maxValues} values`;
      this.refuse(alias, message, 'aliases of aliases grow without end: write out what is needed');
    }
    return target.size;
  }

  private visitMap(map: YAMLMap): number {
    const seen = new Set<string>();
    let size = 0;
    for (const pair of map.items) {
      const { key } = pair;
      if (isMergeKey(key)) this.checkMergeKey(pair);
      else if (isScalar(key)) this.checkKey(key, seen);
      else this.refuse(key, 'a key must be a plain text', 'quotes make a text of it; { and [ begin a map and a list');
      size += 1 + this.visitNode(pair.value);
    }
    return size;
  }

  private checkKey(key: Scalar, seen: Set<string>): void {
    const name = String(key.value);
    if (key.value === null && key.source === '') {
      this.report(key, 'a key is missing in front of the colon', 'name it, or remove the line');
    } else if (name === '__proto__') {
      this.report(key, 'the key `__proto__` is not allowed', 'choose another name');
    } else if (seen.has(name)) {
      this.report(key, `the key \`${name}\` is in the same map twice`, 'keep one of them');
    }
    seen.add(name);
  }

  /** Checks that a merge key (`<<`) refers to a map, or to a list of maps. */
  private checkMergeKey({ key, value }: Pair): void {
    const sources: unknown[] = isSeq(value) ? value.items : [value];
    const areMaps = sources.every((source) =>
      isAlias(source) ? this.anchors.get(source.source)?.isMap !== false : isMap(source),
    );
    if (areMaps) return;
    this.refuse(key, '`<<` takes over the keys of a map, and this is none', 'give it an alias of a map: <<: *name');
  }

  /** Reports a fault that makes the value of the document unusable. */
  private refuse(node: unknown, message: string, hint: string): void {
    this.hasValue = false;
    this.report(node, message, hint);
  }

  private report(node: unknown, message: string, hint: string): void {
    const offset = (node as { range?: readonly number[] | null } | null)?.range?.[0] ?? 0;
    this.faults.push({ offset, message, hint });
  }
}

/** Shortens a tag: `tag:yaml.org,2002:int` → `!!int`. */
function shortTag(tag: string): string {
  return tag.replace('tag:yaml.org,2002:', '!!');
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && (key.value === MERGE_KEY || typeof key.value === 'symbol');
}
