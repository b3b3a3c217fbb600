/**
 * Matches path segments with fixed text next to parameters, such as `{id}:archive` and `{base}...{head}`. Matching
 * avoids backtracking, because clients can send long paths.
 */

/** Characters after which some backends ignore the rest of a segment, such as `.` in `archive.json`. */
const ENDS_SEGMENT = /^[./?#\s]/;

/** SegmentPattern matches the segments of request paths against one segment of a template. */
export class SegmentPattern {
  /** Texts before, between and after the parameters. */
  private readonly texts: readonly string[];
  private readonly lowerCaseTexts: readonly string[];

  /** @param segment segment of a template, such as `{id}:archive` */
  constructor(readonly segment: string) {
    this.texts = segment.split(/\{[^{}]*\}/);
    this.lowerCaseTexts = this.texts.map((text) => text.toLowerCase());
  }

  /** Reports whether a segment of a request matches exactly. Each parameter must have at least one character. */
  matches(segment: string): boolean {
    return fits(this.texts, segment, 1, (rest) => rest === '');
  }

  /**
   * Reports whether a backend could treat a segment as a match, although its case differs or it has a suffix such as
   * `.json`.
   */
  resembles(segment: string): boolean {
    return fits(this.lowerCaseTexts, segment.trim().toLowerCase(), 0, (rest) => rest === '' || ENDS_SEGMENT.test(rest));
  }
}

/** Reports whether a segment of a template combines fixed text with parameters. */
export function isSegmentPattern(segment: string): boolean {
  return /\{/.test(segment) && !/^\{[^{}]*\}$/.test(segment);
}

/**
 * Reports whether a segment contains the texts in this order, with at least `minGap` characters between them.
 * @param isEnd decides whether the match may end here; gets the next character, or an empty string at the end
 */
function fits(texts: readonly string[], segment: string, minGap: number, isEnd: (rest: string) => boolean): boolean {
  const [first = '', ...others] = texts;
  if (!segment.startsWith(first)) return false;
  let at = first.length;
  for (const text of others.slice(0, -1)) {
    const found = segment.indexOf(text, at + minGap);
    if (found === -1) return false;
    at = found + text.length;
  }
  const last = others.at(-1) ?? '';
  if (last === '') return segment.length >= at + minGap;
  for (let found = segment.indexOf(last, at + minGap); found !== -1; found = segment.indexOf(last, found + 1)) {
    const rest = segment.slice(found + last.length, found + last.length + 1);
    if (isEnd(rest)) return true;
  }
  return false;
}
