/**
 * Matches texts against the regular expressions of schemas in bounded time. V8 backtracks, so `^(a+)+$` can take hours
 * for a text of 40 letters. The number of steps is estimated from the pattern and the length of the text. If the
 * estimate is too high, only the backend checks the text.
 */
import { LRUCache } from 'lru-cache';

/** Maximum number of steps of a match in V8. A step takes some nanoseconds. */
const MAX_STEPS = 1_000_000;

const patterns = new LRUCache<string, BoundedPattern>({ max: 1_000 });

/**
 * Returns the compiled pattern from a cache of 1,000 patterns. Compiles the pattern if it is not in the cache.
 * @throws SyntaxError if the pattern is not valid
 */
export function patternOf(pattern: string): BoundedPattern {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const bounded = new BoundedPattern(pattern);
  patterns.set(pattern, bounded);
  return bounded;
}

/** BoundedPattern is a regular expression that takes at most some milliseconds for a match. */
export class BoundedPattern {
  private readonly expression: RegExp;
  private readonly waysOf: (length: number) => number;

  /** @throws SyntaxError if the text is not a valid ECMAScript pattern with the flag `u` */
  constructor(private readonly pattern: string) {
    this.expression = new RegExp(pattern, 'u');
    this.waysOf = waysOfPattern(pattern);
  }

  /** Reports whether a text matches. Returns undefined if the match could take too long. */
  isMatch(text: string): boolean | undefined {
    return this.steps(text.length) > MAX_STEPS ? undefined : this.expression.test(text);
  }

  /** Estimates the maximum number of steps for a text of this length (UTF-16 units). */
  steps(length: number): number {
    // V8 tries a pattern without ^ at each character of the text.
    const startPositions = this.pattern.startsWith('^') && !/(?<!\\)\|/.test(this.pattern) ? 1 : length + 1;
    return this.waysOf(length) * startPositions;
  }
}

/**
 * Ways returns the maximum number of ways in which a part of a pattern can match a text of the given length. V8 may try
 * all of these ways.
 */
type Ways = (length: number) => number;

const SINGLE_WAY: Ways = () => 1;
const UNBOUNDED: Ways = () => Infinity;

/** Returns the ways of an ECMAScript pattern. The ways are unbounded if the pattern has unknown syntax. */
function waysOfPattern(pattern: string): Ways {
  const reader = new Reader(pattern);
  const ways = reader.alternatives();
  return reader.isAtEnd ? ways : UNBOUNDED;
}

/** Reader parses a pattern and combines the ways of its parts. */
class Reader {
  private at = 0;

  constructor(private readonly pattern: string) {}

  get isAtEnd(): boolean {
    return this.at >= this.pattern.length;
  }

  alternatives(): Ways {
    const all = [this.sequence()];
    while (this.skip(/^\|/) !== undefined) all.push(this.sequence());
    return all.length === 1 ? (all[0] ?? SINGLE_WAY) : (length) => all.reduce((sum, ways) => sum + ways(length), 0);
  }

  private sequence(): Ways {
    const parts: Ways[] = [];
    while (!this.isAtEnd && !/^[|)]/.test(this.pattern.slice(this.at, this.at + 1))) {
      const ways = this.repeated(this.atom());
      if (ways !== SINGLE_WAY) parts.push(ways);
    }
    return parts.length === 0 ? SINGLE_WAY : (length) => parts.reduce((product, ways) => product * ways(length), 1);
  }

  /** Parses a group, a character class, an escape or a character. */
  private atom(): Ways {
    if (this.skip(/^\((\?(:|=|!|<=|<!|<[^>]*>))?/) !== undefined) {
      const ways = this.alternatives();
      return this.skip(/^\)/) === undefined ? UNBOUNDED : ways;
    }
    if (this.skip(/^\\[1-9k]/) !== undefined) return UNBOUNDED;
    const match =
      this.skip(/^\[\^?\]?(\\.|[^\]\\])*\]/s) ?? this.skip(/^\\[pPu]\{[^}]*\}/) ?? this.skip(/^(\\.|[^[\\])/su);
    if (match === undefined) this.at = this.pattern.length + 1;
    return match === undefined ? UNBOUNDED : SINGLE_WAY;
  }

  private repeated(part: Ways): Ways {
    const quantifier = this.skip(/^(\*|\+|\?|\{(\d+)(,(\d*))?\})\??/);
    if (quantifier === undefined) return part;
    const [, sign = '', least = '0', range, most = ''] = quantifier;
    const [from, to] = boundsOf(sign, Number(least), range, most);
    if (to === from && (from <= 1 || part === SINGLE_WAY)) return part;
    // Multiply the number of possible repetition counts by the ways of all repetitions.
    return (length) => {
      const times = Math.min(to, Math.max(length, 1));
      const choices = Math.max(1, Math.min(to - from, length) + 1);
      const each = part(length);
      return choices * (each > 1 || part !== SINGLE_WAY ? Math.max(each, 2) ** times : 1);
    };
  }

  private skip(expression: RegExp): RegExpExecArray | undefined {
    const found = expression.exec(this.pattern.slice(this.at));
    if (found === null) return undefined;
    this.at += found[0].length;
    return found;
  }
}

function boundsOf(sign: string, least: number, range: string | undefined, most: string): [number, number] {
  if (sign === '*') return [0, Infinity];
  if (sign === '+') return [1, Infinity];
  if (sign === '?') return [0, 1];
  if (range === undefined) return [least, least];
  return [least, most === '' ? Infinity : Number(most)];
}
