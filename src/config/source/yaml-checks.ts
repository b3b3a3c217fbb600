/**
 * Checks that the YAML parser omits: duplicate or non-text keys, tags, and aliases that are undefined, recursive or
 * expand too much.
 */
import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { Alias, Document, Pair, ParsedNode, Scalar, YAMLMap } from 'yaml';
import type { TextFault } from './decode-text.js';
import type { TextBounds } from './yaml-parse.js';

const MERGE_KEY = '<<';

/** Faults of a parsed document, and whether its value is still usable. */
export interface DocumentFaults {
  readonly faults: readonly TextFault[];
  readonly hasValue: boolean;
}

/** Returns the faults of a document in order of position. */
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
  walk.node(contents);
  return walk;
}

/** An anchored value with its size including expanded aliases. `open` while it is being traversed. */
interface Anchored {
  size: number;
  open: boolean;
  readonly isMap: boolean;
}

class Walk {
  readonly faults: TextFault[] = [];
  hasValue = true;
  /** Anchors can be redefined; an alias refers to the last one before it. */
  private readonly anchors = new Map<string, Anchored>();

  /** Number of values repeated by aliases. */
  private repeated = 0;

  constructor(
    private readonly mostValues: number,
    private readonly reportedTags: readonly string[],
  ) {}

  /** Traverses a value. @returns its number of values */
  node(node: unknown): number {
    if (isAlias(node)) return this.alias(node);
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) return 1;
    const anchored: Anchored = { size: 1, open: true, isMap: isMap(node) };
    if (node.tag !== undefined) {
      this.tag(node, node.tag);
    }
    if (node.anchor !== undefined) this.anchors.set(node.anchor, anchored);
    if (isMap(node)) anchored.size += this.map(node as YAMLMap);
    else if (isSeq(node)) for (const item of node.items) anchored.size += this.node(item);
    anchored.open = false;
    return anchored.size;
  }

  /** Reports a tag, unless the parser has reported it as unknown. */
  private tag(node: unknown, tag: string): void {
    if (this.reportedTags.some((message) => message.includes(tag))) return;
    this.report(node, `the tag \`${shortTag(tag)}\` is not read: a value is what it looks like`, 'remove it');
  }

  private alias(alias: Alias): number {
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
    if (this.repeated > this.mostValues) {
      this.repeated = -Infinity; // One report is enough.
      const message = `the aliases up to \`*${alias.source}\` repeat more than ${this.mostValues} values`;
      this.refuse(alias, message, 'aliases of aliases grow without end: write out what is needed');
    }
    return target.size;
  }

  private map(map: YAMLMap): number {
    const seen = new Set<string>();
    let size = 0;
    for (const pair of map.items) {
      const { key } = pair;
      if (isMergeKey(key)) this.mergeSource(pair);
      else if (isScalar(key)) this.key(key, seen);
      else this.refuse(key, 'a key must be a plain text', 'quotes make a text of it; { and [ begin a map and a list');
      size += 1 + this.node(pair.value);
    }
    return size;
  }

  private key(key: Scalar, seen: Set<string>): void {
    const name = String(key.value);
    if (key.value === null && key.source === '') {
      this.report(key, 'a key is missing in front of the colon', 'name it, or remove the line');
    } else if (name === '__proto__') {
      this.report(key, 'the key `__proto__` is not allowed', 'choose another name');
    } else if (seen.has(name)) {
      this.report(key, `the key \`${name}\` stands twice in the same map`, 'keep one of them');
    }
    seen.add(name);
  }

  /** Checks that a merge key (`<<`) refers to a map, or a list of maps. */
  private mergeSource({ key, value }: Pair): void {
    const sources: unknown[] = isSeq(value) ? value.items : [value];
    const areMaps = sources.every((source) =>
      isAlias(source) ? this.anchors.get(source.source)?.isMap !== false : isMap(source),
    );
    if (areMaps) return;
    this.refuse(key, '`<<` takes over the keys of a map, and this is none', 'give it an alias of a map: <<: *name');
  }

  /** Reports a fault that makes the document's value unusable. */
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
