/** Parses YAML and JSON with limits, so that no text takes too long. Errors are in plain language. */
import { Composer, isCollection, isPair, isScalar, Lexer, LineCounter, Parser } from 'yaml';
import type { CST, Document, ParsedNode, YAMLError } from 'yaml';
import type { TextFault } from './decode-text.js';
import { syntaxFault } from './yaml-words.js';

/** Limits of a YAML or JSON file. */
export interface TextBounds {
  /** Maximum size of the file, in bytes. */
  readonly bytes: number;
  /**
   * Maximum number of lexer tokens, such as keys, values, commas and line breaks. The parsing time depends on this
   * number.
   */
  readonly tokens: number;
}

const MAX_CONFIG_BYTES = 1_024 * 1_024;
const MAX_CONFIG_TOKENS = 200_000;
const MAX_DOCUMENT_BYTES = 16 * 1_024 * 1_024;
const MAX_DOCUMENT_TOKENS = 2_000_000;

/** Limits of `gateway.yaml`, which allow about 6,000 operations. */
export const GATEWAY_BOUNDS: TextBounds = { bytes: MAX_CONFIG_BYTES, tokens: MAX_CONFIG_TOKENS };
/** Limits of OpenAPI documents. The largest published documents are smaller. */
export const DOCUMENT_BOUNDS: TextBounds = { bytes: MAX_DOCUMENT_BYTES, tokens: MAX_DOCUMENT_TOKENS };

/** Maximum nesting of maps and lists. The traversal is recursive, so deeper nesting could overflow the stack. */
export const DEEPEST_NESTING = 200;
/** Number of entries of the parser's stack that are not maps or lists, which are the document and the current value. */
const OTHER_STACK_ENTRIES = 2;

/** Result of `parseText`. `document` is undefined if a fault makes the text unusable. */
export interface ParsedText {
  readonly document?: Document.Parsed<ParsedNode>;
  readonly lines: LineCounter;
  readonly faults: readonly TextFault[];
}

/** BoundReached is thrown during parsing when a limit is reached. */
class BoundReached extends Error {
  constructor(readonly fault: TextFault) {
    super(fault.message);
  }
}

/** Parses a single document. Invalid text gives faults. `yaml-checks.ts` checks duplicate keys and aliases. */
export function parseText(text: string, bounds: TextBounds, isJson: boolean): ParsedText {
  const lines = new LineCounter();
  try {
    if (text.length > bounds.tokens) countTokens(text, bounds.tokens);
    // The parser would compare all pairs of keys. `yaml-checks.ts` uses a set, which is faster.
    const composer = new Composer({ merge: true, prettyErrors: false, uniqueKeys: false, resolveKnownTags: false });
    const documents = composer.compose(tokensOf(text, lines), true, text.length);
    const first = documents.next();
    if (first.done === true) return { lines, faults: [faultAtStart('has no document', 'write one')] };
    const document = first.value;
    const [error] = document.errors;
    // Later errors are mostly consequences of the first error.
    if (error !== undefined) {
      const fault = syntaxFault(error, text, isJson);
      return { lines, faults: [{ ...fault, offset: openedAt(document.contents, error) ?? fault.offset }] };
    }
    if (documents.next().done !== true) return { lines, faults: [secondDocument(text, document.range[1])] };
    return { document, lines, faults: document.warnings.map((warning) => syntaxFault(warning, text, isJson)) };
  } catch (error) {
    if (error instanceof BoundReached) return { lines, faults: [error.fault] };
    throw error;
  }
}

/**
 * Returns the offset at which an unclosed quote or bracket was opened. The parser reports where it should have ended,
 * often at the end of the file. Returns undefined for other errors.
 */
function openedAt(contents: unknown, { message, pos: [offset] }: YAMLError): number | undefined {
  if (!/^Missing closing|end with a/.test(message)) return undefined;
  let opened: number | undefined;
  const visit = (node: unknown): void => {
    const [start = 0, , end = 0] = (node as { range?: readonly number[] | null } | null)?.range ?? [];
    if (start > offset || end < offset) return;
    const isQuoted = isScalar(node) && node.type?.startsWith('QUOTE') === true;
    if (isQuoted || (isCollection(node) && node.flow === true)) opened = start;
    if (!isCollection(node)) return;
    for (const item of node.items) for (const child of isPair(item) ? [item.key, item.value] : [item]) visit(child);
  };
  visit(contents);
  return opened;
}

/**
 * Yields the tokens of the parser, and records the line starts in `lines`.
 * @throws BoundReached if maps and lists are nested too deep
 */
function* tokensOf(text: string, lines: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length <= DEEPEST_NESTING + OTHER_STACK_ENTRIES) continue;
    throw new BoundReached({
      offset: parser.offset,
      message: `has more than ${DEEPEST_NESTING} maps and lists within each other`,
      hint: 'look for brackets that are never closed',
    });
  }
  yield* parser.end();
}

/**
 * Counts lexer tokens, which takes a fifth of the parsing time. A text with at most `maxTokens` characters needs no
 * count.
 * @throws BoundReached if there are too many tokens
 */
function countTokens(text: string, maxTokens: number): void {
  let [count, offset] = [0, 0];
  for (const lexeme of new Lexer().lex(text)) {
    if (count++ > maxTokens) {
      const message = `has more than ${maxTokens} tokens (keys, values, commas, line breaks) up to here`;
      throw new BoundReached({ offset, message, hint: 'see whether all of it is needed' });
    }
    // The lexer marks documents and plain values with characters that are not in the text.
    if (!/^[\u{2}\u{18}\u{1f}]$/u.test(lexeme)) offset += lexeme.length;
  }
}

function faultAtStart(message: string, hint: string): TextFault {
  return { offset: 0, message, hint };
}

function secondDocument(text: string, from: number): TextFault {
  const [, before = '', mark = ''] = /^([\s\S]*?)^(---|\.\.\.)/m.exec(text.slice(from)) ?? [];
  const offset = from + (mark === '' ? 0 : before.length);
  const message = 'a second YAML document begins here, and only one is read';
  return { offset, message, hint: 'remove the line `---`, or move what follows into a file of its own' };
}
