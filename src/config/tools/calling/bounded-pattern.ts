/**
 * Regular expressions of schemas with bounded execution time. V8 backtracks: for `^(a+)+$`, a text of 40 letters takes
 * hours. The maximum number of steps is estimated from pattern and text length. If it is too high, the check is left to
 * the backend.
 */
import { LRUCache } from 'lru-cache';

/** Steps of V8, some nanoseconds each. */
const MOST_STEPS = 1_000_000;

const patterns = new LRUCache<string, BoundedPattern>({ max: 1_000 });

/** Returns the compiled pattern, from a cache. */
export function patternOf(pattern: string): BoundedPattern {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const bounded = new BoundedPattern(pattern);
  patterns.set(pattern, bounded);
  return bounded;
}

/** BoundedPattern is a pattern that never takes longer than some milliseconds. */
export class BoundedPattern {
  private readonly expression: RegExp;
  private readonly waysOf: (length: number) => number;

  /** @throws SyntaxError if it is not a valid ECMAScript pattern with the flag `u` */
  constructor(private readonly pattern: string) {
    this.expression = new RegExp(pattern, 'u');
    this.waysOf = waysOfPattern(pattern);
  }

  /** Reports whether a text matches; undefined if that would take too long. */
  isMatch(text: string): boolean | undefined {
    return this.steps(text.length) > MOST_STEPS ? undefined : this.expression.test(text);
  }

  /** Estimates the maximum number of steps for a text of this length. */
  steps(length: number): number {
    // A pattern without ^ is tried at each character.
    const begins = this.pattern.startsWith('^') && !/(?<!\\)\|/.test(this.pattern) ? 1 : length + 1;
    return this.waysOf(length) * begins;
  }
}

/** Number of ways in which a part can match, by text length. */
type Ways = (length: number) => number;

const ONE: Ways = () => 1;
const NEVER: Ways = () => Infinity;

/** Parses an ECMAScript pattern. Unknown syntax counts as unbounded. */
function waysOfPattern(pattern: string): Ways {
  const reader = new Reader(pattern);
  const ways = reader.alternatives();
  return reader.isAtEnd ? ways : NEVER;
}

class Reader {
  private at = 0;

  constructor(private readonly pattern: string) {}

  get isAtEnd(): boolean {
    return this.at >= this.pattern.length;
  }

  alternatives(): Ways {
    const all = [this.sequence()];
    while (this.skip(/^\|/) !== undefined) all.push(this.sequence());
    return all.length === 1 ? (all[0] ?? ONE) : (length) => all.reduce((sum, ways) => sum + ways(length), 0);
  }

  private sequence(): Ways {
    const parts: Ways[] = [];
    while (!this.isAtEnd && !/^[|)]/.test(this.pattern.slice(this.at, this.at + 1))) {
      const ways = this.repeated(this.atom());
      if (ways !== ONE) parts.push(ways);
    }
    return parts.length === 0 ? ONE : (length) => parts.reduce((product, ways) => product * ways(length), 1);
  }

  /** Parses a group, a set, an escape or a character. */
  private atom(): Ways {
    if (this.skip(/^\((\?(:|=|!|<=|<!|<[^>]*>))?/) !== undefined) {
      const ways = this.alternatives();
      return this.skip(/^\)/) === undefined ? NEVER : ways;
    }
    if (this.skip(/^\\[1-9k]/) !== undefined) return NEVER;
    const isRead =
      this.skip(/^\[\^?\]?(\\.|[^\]\\])*\]/s) ?? this.skip(/^\\[pPu]\{[^}]*\}/) ?? this.skip(/^(\\.|[^[\\])/su);
    if (isRead === undefined) this.at = this.pattern.length + 1;
    return isRead === undefined ? NEVER : ONE;
  }

  private repeated(once: Ways): Ways {
    const quantifier = this.skip(/^(\*|\+|\?|\{(\d+)(,(\d*))?\})\??/);
    if (quantifier === undefined) return once;
    const [, sign = '', least = '0', range, most = ''] = quantifier;
    const [from, to] = boundsOf(sign, Number(least), range, most);
    if (to === from && (from <= 1 || once === ONE)) return once;
    // Number of possible repetitions, times the ways of each.
    return (length) => {
      const times = Math.min(to, Math.max(length, 1));
      const choices = Math.max(1, Math.min(to - from, length) + 1);
      const each = once(length);
      return choices * (each > 1 || once !== ONE ? Math.max(each, 2) ** times : 1);
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
