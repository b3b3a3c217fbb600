/** Checks scalar values in `gateway.yaml` that YAML reads differently from how they look. */
import type { Scalar } from 'yaml';
import type { ConfigProblem } from '../model/problem.js';
import type { SourceDocument } from '../source/source-document.js';

/** Matches control characters, except line breaks and tabs. */
// oxlint-disable-next-line no-control-regex -- the pattern looks for control characters
const CONTROL = /[\0-\x08\v\f\x0e-\x1f\x7f-\x9f]/;
/**
 * Matches a number with a leading zero. YAML 1.1 reads it as octal and YAML 1.2 as decimal, so the intent is unclear.
 */
const LEADING_ZERO = /^[-+]?0\d[\d.]*$/;
/** Matches a shell-style variable such as `$NAME`, which the program does not replace. */
const SHELL_REFERENCE = /(?<!\$)\$([A-Za-z_][A-Za-z0-9_]*)/;
/** Matches a space and a `#` directly before text. In `pass #word`, YAML reads `#word` as a comment. */
const CUT_BY_COMMENT = /^[ \t]+#[^\s#!]/;

/**
 * Matches invisible characters that change how text is displayed: bidirectional controls (CVE-2021-42574) and
 * zero-width spaces. Joiners are excluded, because Persian and emoji need them.
 */
const INVISIBLE = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
/** Matches invisible characters, including joiners, and spaces that look like an ordinary space. */
const MISLEADING_IN_NAME = /[\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2069\u3000\u00ad\u061c\u180e\ufeff]/;

/** Returns the first invisible or space-like character of a name, formatted as `U+200B`. Undefined if there is none. */
export function misleadingCharacter(name: string): string | undefined {
  return codePointName(MISLEADING_IN_NAME.exec(name)?.[0]);
}

function codePointName(character: string | undefined): string | undefined {
  return character === undefined
    ? undefined
    : `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/**
 * Returns the problems of scalar values: control characters, lone surrogates and leading zeros. Call this function
 * after variables were substituted, so that the values of variables are checked, too.
 */
export function scalarProblems(source: SourceDocument): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  source.visitScalars(({ value, source: written = '' }, path) => {
    if (typeof value === 'number' && LEADING_ZERO.test(written)) {
      const hint = `write ${value}, or 0o${written.replace(/\D/g, '')} for an octal number`;
      problems.push(source.problem(path, `${written} can be read as decimal and as octal`, hint));
    }
    if (typeof value !== 'string') return;
    const code = CONTROL.exec(value)?.[0].charCodeAt(0);
    if (code !== undefined) {
      const message = `has the control character U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
      problems.push(source.problem(path, message, 'remove the escape that stands for it'));
    } else if (!value.isWellFormed()) {
      problems.push(
        source.problem(path, 'has half of a character (a lone surrogate)', 'remove the escape, or write both'),
      );
    }
  });
  return problems;
}

/** Warns about invisible characters, shell-style references, and values that may have lost a part to a comment. */
export function scalarWarnings(source: SourceDocument): ConfigProblem[] {
  const warnings: ConfigProblem[] = [];
  source.visitScalars((scalar, path) => {
    if (typeof scalar.value !== 'string') return;
    const invisible = codePointName(INVISIBLE.exec(scalar.value)?.[0]);
    if (invisible !== undefined) {
      const hint = 'remove it, or write the text anew: it can change how the text looks';
      warnings.push(source.problem(path, `has the invisible character ${invisible}`, hint));
    }
    const [, name] = SHELL_REFERENCE.exec(scalar.source ?? '') ?? [];
    if (name !== undefined) {
      const hint = `write \${${name}} if the environment variable is meant`;
      warnings.push(source.problem(path, `\`$${name}\` is not replaced by anything`, hint));
    }
    if (scalar.type !== 'PLAIN' || !CUT_BY_COMMENT.test(textAfter(scalar, source.text))) return;
    const message = 'ends where a comment begins: what follows the # is not part of it';
    warnings.push(source.problem(path, message, 'put the text in quotes, or a space behind the #'));
  });
  return warnings;
}

/** Returns the text after a scalar, at most 40 UTF-16 units. */
function textAfter({ range }: Scalar, text: string): string {
  const end = range?.[1] ?? text.length;
  return text.slice(end, end + 40);
}
