/** Rewrites error messages of the YAML parser for people who do not know the grammar of YAML, and adds advice. */
import type { ErrorCode } from 'yaml';
import type { TextFault } from './decode-text.js';

/** An error or warning of the YAML parser. */
export interface SyntaxError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly pos: readonly [number, number];
}

const DEFAULT_HINT = 'look at this line and the one before it: indentation, colons and quotes';
const JSON_HINT = 'look for a comma, a quote or a bracket that is missing or too many, here or just before';

/** Advice by error code. */
const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_ALIAS: 'a text that begins with * or & needs quotes',
  BAD_DIRECTIVE: 'remove the line that begins with %',
  BAD_DQ_ESCAPE: "between double quotes \\ begins an escape: write \\\\, or put the text in single quotes ('…')",
  BAD_SCALAR_START: 'put the text in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a text that has a colon and a space in it needs quotes',
  TAB_AS_INDENT: 'indent with spaces',
};

/** Plain messages by pattern of the parser's message. The first matching pattern applies. */
const PLAIN_MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/^Nested mappings are not allowed/, 'a second `key: value` within a value'],
  [/^Implicit (map )?keys need to be/, 'a key without its colon, or a line that is indented too little'],
  [/^Tabs are not allowed/, 'tabs cannot be used for indentation'],
  [/^All (mapping|sequence) items must start/, 'the line is indented differently from those it belongs to'],
  [/^Missing closing/, 'a quote that is never closed'],
  [/^Flow sequence .*end with a \]/, 'a `[` that is never closed, or whose lines are not indented'],
  [/^Flow map .*end with a \}/, 'a `{` that is never closed, or whose lines are not indented'],
  [/^Unexpected flow-(map|seq)-start/, 'a bracket after the end of a value'],
  [/^The : indicator must be at most 1024/, 'a key of more than 1024 characters'],
  [/^Missing , (or : )?between/, 'a comma is missing'],
  [/^Unexpected flow-seq-end/, 'a `]` that closes nothing'],
  [/^Unexpected flow-map-end/, 'a `}` that closes nothing'],
  [/^Unexpected .*scalar at node end/, 'text after the end of a value'],
  [/^Unexpected , in/, 'a comma too many'],
  [/^Block collections are not allowed within/, 'a comma or a bracket is missing'],
  [/^Plain value cannot start with .*(.)$/, 'a text cannot begin with `$1`'],
  [/^Alias cannot be an empty/, 'a `*` without a name'],
  [/^Anchor cannot be an empty/, 'a `&` without a name'],
];

/** Spaces and quotes that word processors and web pages use instead of the ASCII characters, with advice. */
const LOOKALIKES: readonly (readonly [RegExp, string])[] = [
  [
    /[\u{a0}\u{2007}\u{202f}\u{200b}]/u,
    'a space of this line is not a plain one (it may come from a web page): type it again',
  ],
  [/[“”„‘’«»]/u, 'the quotes of this line are not plain ones: type " or \''],
];

/** Converts a parser error or warning to a fault with the most specific advice for its line. */
export function syntaxFault({ code, message, pos: [offset] }: SyntaxError, text: string, isJson: boolean): TextFault {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1).split('\n', 1)[0] ?? '';
  if (code === 'TAG_RESOLVE_FAILED') {
    const [tag = ''] = /^![^\s,\]}]*/.exec(text.slice(offset)) ?? [];
    return { offset, message: `the tag \`${tag}\` is not supported`, hint: 'remove it' };
  }
  return {
    offset,
    message: `is not valid ${isJson ? 'JSON' : 'YAML'}: ${plainMessage(message)}`,
    hint: hintOf(line, isJson) ?? HINTS[code] ?? (isJson ? JSON_HINT : DEFAULT_HINT),
  };
}

function hintOf(line: string, isJson: boolean): string | undefined {
  const lookalike = LOOKALIKES.find(([pattern]) => pattern.test(line));
  if (lookalike !== undefined) return lookalike[1];
  const hasBareBrace = !isJson && /[{[].*\{/.test(line);
  return hasBareBrace ? 'inside { } and [ ] a text that has { or } needs quotes' : undefined;
}

function plainMessage(message: string): string {
  for (const [pattern, plain] of PLAIN_MESSAGES) {
    const match = pattern.exec(message);
    if (match !== null) return plain.replace('$1', match[1] ?? '');
  }
  return message.slice(0, 1).toLowerCase() + message.slice(1);
}
