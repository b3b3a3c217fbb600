/**
 * Converts API responses to tool results: JSON as compact text and structured content, images as image content. Large
 * responses are truncated, with advice on how to request less.
 */
import { parseExact, toWellFormedJson } from '../../platform/json/exact-json.js';
import type { InnerResponse } from '../../admission/doors/inner-call.js';
import { type Tool, WRAPPED_UNDER } from '../../config/tools/tool.js';
import { isObject } from '../protocol/message.js';
import { storedRefusalText } from './refusal-words.js';
import { errorResult, structuredResult, textResult } from './result.js';

// Field lines, each with CRLF.
const CONTENT_TYPE = /(?:^|\n)content-type:[ \t]*([^;\r\n]*[^;\r\n \t])/i;
const LOCATION = /(?:^|\n)location:[ \t]*([^\r]*?)[ \t]*\r/i;
const USUAL_TYPE = 'application/json';
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/i;
const TEXT_TYPE = /^(?:text\/|application\/(?:xml|x-www-form-urlencoded|yaml|x-ndjson|[\w.+-]+\+xml)$)/i;
const IMAGE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/i;
/** Whitespace of pretty-printed JSON, and how far into a body to search for it. */
const LAID_OUT = /[\r\n]|(?<=":) |(?<=,) (?=")/;
const LAID_OUT_WITHIN = 200;
const MOST_MISSING = 10;

/** Receives the names of fields that structured content omits because their types violate the output schema. */
export type OnMisfit = (fields: readonly string[]) => void;

/** Returns the members of the tool result. */
export function responseResult(
  tool: Tool,
  response: InnerResponse,
  mostBytes: number,
  requestId: string,
  onMisfit: OnMisfit,
): string {
  const { status, lines, body, isCut } = response;
  // The response was stored for an earlier call with the same idempotency key.
  if (status >= 400) return errorResult(storedRefusalText(body, requestId));
  if (status >= 300) return errorResult(emptyText(status, lines));
  if (body.length === 0) return withStructure(tool, emptyText(status, lines), undefined, onMisfit);
  const type = CONTENT_TYPE.exec(lines)?.[1] ?? '';
  if (isCut) return cutResult(tool, type, body, mostBytes);
  if (type === USUAL_TYPE || JSON_TYPE.test(type))
    return jsonResult(tool, withoutMark(body.toString('utf8')), onMisfit);
  if (IMAGE_TYPE.test(type)) {
    const block = { type: 'image', data: body.toString('base64'), mimeType: type.toLowerCase() };
    return `"content":[${JSON.stringify(block)}]`;
  }
  if (type === '' || TEXT_TYPE.test(type)) return textResult(body.toString('utf8'));
  return errorResult(`The response is ${type} of ${body.length} bytes, which is no text: ask for it over HTTP.`);
}

/** Removes a byte order mark, which some backends write before JSON, and which is not JSON (RFC 8259 section 8.1). */
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

function jsonResult(tool: Tool, text: string, onMisfit: OnMisfit): string {
  const isLaidOut = LAID_OUT.test(text.slice(0, LAID_OUT_WITHIN));
  if (tool.outputSchema === undefined && !isLaidOut) return textResult(text);
  let value: unknown;
  try {
    value = parseExact(text);
  } catch {
    // The content type is JSON but the body is not. Return the plain text.
    return tool.outputSchema === undefined ? textResult(text) : errorResult(text, 'The response is not JSON.');
  }
  return withStructure(tool, isLaidOut ? JSON.stringify(value) : text, value, onMisfit);
}

/** Adds structured content, which a tool with an output schema must have. */
function withStructure(tool: Tool, text: string, value: unknown, onMisfit: OnMisfit): string {
  const structured = tool.outputSchema === undefined ? undefined : tool.structure(value);
  // Clients that show only structured content would not show these fields.
  const missing = value === undefined || structured === undefined ? [] : missingIn(structured, value);
  if (missing.length > 0) onMisfit(missing);
  return structured === undefined
    ? textResult(text)
    : structuredResult(text, toWellFormedJson(JSON.stringify(structured)));
}

/** Returns up to ten names of fields that the structured content omits. */
function missingIn(structured: Readonly<Record<string, unknown>>, value: unknown): readonly string[] {
  const missing: string[] = [];
  const compare = (there: unknown, whole: unknown, path: string): void => {
    if (there === whole || missing.length === MOST_MISSING) return;
    if (typeof there !== 'object' || there === null || typeof whole !== 'object' || whole === null) {
      missing.push(path === '' ? 'the whole' : path);
      return;
    }
    for (const name of Object.keys(whole)) {
      const [of, all] = [there as Record<string, unknown>, whole as Record<string, unknown>];
      compare(of[name], all[name], path === '' ? name : `${path}.${name}`);
    }
  };
  const isWrapped = !isObject(value) || (WRAPPED_UNDER in structured && !(WRAPPED_UNDER in value));
  compare(isWrapped ? structured[WRAPPED_UNDER] : structured, value, '');
  return missing;
}

/** Describes a response without a body: its status, and the location of a created resource or a redirect. */
function emptyText(status: number, lines: string): string {
  const detail = status >= 300 ? 'The API redirects, and tools do not follow. Tell the person.' : undefined;
  return JSON.stringify({ status, location: LOCATION.exec(lines)?.[1], detail });
}

/** Returns a truncated response with advice. It is an error result, because it cannot match the output schema. */
function cutResult({ pagingArguments }: Tool, type: string, body: Buffer, mostBytes: number): string {
  const howTo =
    pagingArguments.length > 0
      ? `Ask for less at once, or for the next part, with: ${pagingArguments.join(', ')}.`
      : 'This tool has no arguments that ask for less: ask for something narrower, or over HTTP.';
  const words = `The response is larger than ${mostBytes} bytes, and was cut there. ${howTo}`;
  return JSON_TYPE.test(type) || type === '' || TEXT_TYPE.test(type)
    ? errorResult(wholeText(body), words)
    : errorResult(words);
}

/** Decodes UTF-8 that may end within a character. */
function wholeText(bytes: Buffer): string {
  return new TextDecoder().decode(bytes, { stream: true });
}
