/**
 * Converts API responses to tool results. JSON becomes compact text and structured content, and images become image
 * content. Large responses are truncated, with advice on how to request less.
 */
import { parseExact, toWellFormedJson } from '../../platform/json/exact-json.js';
import type { InnerResponse } from '../../admission/mounted/inner-call.js';
import { type Tool, WRAPPED_UNDER } from '../../config/tools/tool.js';
import { isObject } from '../protocol/message.js';
import { storedRefusalText } from './refusal-words.js';
import { errorResult, structuredResult, textResult } from './result.js';

// Patterns for field lines, each with its CRLF.
const CONTENT_TYPE = /(?:^|\n)content-type:[ \t]*([^;\r\n]*[^;\r\n \t])/i;
const LOCATION = /(?:^|\n)location:[ \t]*([^\r]*?)[ \t]*\r/i;
const USUAL_TYPE = 'application/json';
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/i;
const TEXT_TYPE = /^(?:text\/|application\/(?:xml|x-www-form-urlencoded|yaml|x-ndjson|[\w.+-]+\+xml)$)/i;
const IMAGE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/i;
/** Pattern for the whitespace of pretty-printed JSON, and the number of characters in which it is searched. */
const PRETTY_PRINTED = /[\r\n]|(?<=":) |(?<=,) (?=")/;
const SEARCHED_CHARACTERS = 200;
const MAX_MISSING = 10;

/**
 * OnMisfit receives the names of fields that structured content omits, because their types contradict the output
 * schema.
 */
export type OnMisfit = (fields: readonly string[]) => void;

/**
 * Returns the tool result for an API response, as members of a JSON-RPC result.
 * @param mostBytes size at which the response was truncated
 */
export function responseResult(
  tool: Tool,
  response: InnerResponse,
  mostBytes: number,
  requestId: string,
  onMisfit: OnMisfit,
): string {
  const { status, lines, body, isCut } = response;
  // An error response without a `problem` was stored for an earlier call with the same idempotency key.
  if (status >= 400) return errorResult(storedRefusalText(body, requestId));
  if (status >= 300) return errorResult(emptyText(status, lines));
  if (body.length === 0) return withStructure(tool, emptyText(status, lines), undefined, onMisfit);
  const type = CONTENT_TYPE.exec(lines)?.[1] ?? '';
  if (isCut) return truncatedResult(tool, type, body, mostBytes);
  if (type === USUAL_TYPE || JSON_TYPE.test(type))
    return jsonResult(tool, withoutByteOrderMark(body.toString('utf8')), onMisfit);
  if (IMAGE_TYPE.test(type)) {
    const block = { type: 'image', data: body.toString('base64'), mimeType: type.toLowerCase() };
    return `"content":[${JSON.stringify(block)}]`;
  }
  if (type === '' || TEXT_TYPE.test(type)) return textResult(body.toString('utf8'));
  return errorResult(`The response is ${type} of ${body.length} bytes, which is no text: ask for it over HTTP.`);
}

/** Removes a byte order mark. Some backends write it before JSON, which RFC 8259 section 8.1 does not allow. */
function withoutByteOrderMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

function jsonResult(tool: Tool, text: string, onMisfit: OnMisfit): string {
  const isPrettyPrinted = PRETTY_PRINTED.test(text.slice(0, SEARCHED_CHARACTERS));
  if (tool.outputSchema === undefined && !isPrettyPrinted) return textResult(text);
  let value: unknown;
  try {
    value = parseExact(text);
  } catch {
    // The content type is JSON, but the body is not. Return the body as text.
    return tool.outputSchema === undefined ? textResult(text) : errorResult(text, 'The response is not JSON.');
  }
  return withStructure(tool, isPrettyPrinted ? JSON.stringify(value) : text, value, onMisfit);
}

/** Returns a result with text and, for a tool with an output schema, with the required structured content. */
function withStructure(tool: Tool, text: string, value: unknown, onMisfit: OnMisfit): string {
  const structured = tool.outputSchema === undefined ? undefined : tool.structure(value);
  // Clients that show only structured content would not show the omitted fields.
  const missing = value === undefined || structured === undefined ? [] : omittedFields(structured, value);
  if (missing.length > 0) onMisfit(missing);
  return structured === undefined
    ? textResult(text)
    : structuredResult(text, toWellFormedJson(JSON.stringify(structured)));
}

/** Returns the names of fields that the structured content omits, up to `MAX_MISSING` names. */
function omittedFields(structured: Readonly<Record<string, unknown>>, value: unknown): readonly string[] {
  const missing: string[] = [];
  const compare = (kept: unknown, original: unknown, path: string): void => {
    if (kept === original || missing.length === MAX_MISSING) return;
    if (typeof kept !== 'object' || kept === null || typeof original !== 'object' || original === null) {
      missing.push(path === '' ? 'the whole' : path);
      return;
    }
    for (const name of Object.keys(original)) {
      const [keptFields, allFields] = [kept as Record<string, unknown>, original as Record<string, unknown>];
      compare(keptFields[name], allFields[name], path === '' ? name : `${path}.${name}`);
    }
  };
  const isWrapped = !isObject(value) || (WRAPPED_UNDER in structured && !(WRAPPED_UNDER in value));
  compare(isWrapped ? structured[WRAPPED_UNDER] : structured, value, '');
  return missing;
}

/** Describes a response without a body, or a redirect, by its status and its `Location`. */
function emptyText(status: number, lines: string): string {
  const detail = status >= 300 ? 'The API redirects, and tools do not follow. Tell the person.' : undefined;
  return JSON.stringify({ status, location: LOCATION.exec(lines)?.[1], detail });
}

/**
 * Returns a truncated response with advice. The result is an error, because a truncated response cannot match the
 * output schema.
 */
function truncatedResult({ pagingArguments }: Tool, type: string, body: Buffer, mostBytes: number): string {
  const howTo =
    pagingArguments.length > 0
      ? `Ask for less at once, or for the next part, with: ${pagingArguments.join(', ')}.`
      : 'This tool has no arguments that ask for less: ask for something narrower, or over HTTP.';
  const words = `The response is larger than ${mostBytes} bytes, and was cut there. ${howTo}`;
  return JSON_TYPE.test(type) || type === '' || TEXT_TYPE.test(type)
    ? errorResult(textOfTruncated(body), words)
    : errorResult(words);
}

/** Decodes UTF-8 bytes that may end within a character. Omits an incomplete character at the end. */
function textOfTruncated(bytes: Buffer): string {
  return new TextDecoder().decode(bytes, { stream: true });
}
