/** Converts validated tool arguments to the path, query, header lines and body of a request. */
import { isExactNumber } from '../../../platform/json/exact-json.js';
import type {
  BodyBinding,
  HeaderBinding,
  ParameterBinding,
  PathBinding,
  ToolBinding,
} from '../../model/described-tool.js';
import { isSegmentPattern, SegmentPattern } from '../../openapi/segment-pattern.js';
import type { ArgumentFault, ArgumentFaults, BoundRequest } from '../tool.js';
import { percentEncode, queryPairs, simpleText, textOf } from './write-values.js';

type Arguments = Readonly<Record<string, unknown>>;

/** Maximum number of characters of the URL and the header lines. Request heads of clients have the same limit. */
const MAX_HEAD_LENGTH = 16 * 1024;
/** Matches characters that could end or split a segment in software that decodes too early or twice. */
const SEPARATOR = /[/\\;\p{Cc}]|%[0-9a-f]{2}/iu;
/** Matches a segment that software could treat as `.` or `..`. */
const DOT_SEGMENT = /^\s*\.\.?\s*(?:[?#]|$)/;
/** Matches a character at which some backends cut off the rest of a segment. */
const AFTER_SEGMENT = /^[.?#\s]/;
/** Matches valid header values (RFC 9110 section 5.5), without the control characters of Latin-1. */
const FIELD_VALUE = /^[\t\x20-\x7e\xa0-\xff]*$/;

/**
 * Creates the request, or returns up to ten faults of arguments that a request cannot contain.
 * @param args arguments that are valid according to the input schema
 */
export function bindArguments(binding: ToolBinding, args: Arguments): BoundRequest | ArgumentFaults {
  const faults: ArgumentFault[] = [];
  const report = (field: string, detail: string): void => void faults.push({ field, detail });
  const path = writePath(binding, args, report);
  const query = writeQuery(binding, args);
  const body = binding.body === undefined ? undefined : writeBody(binding.body, args);
  const type = body === undefined || binding.body === undefined ? '' : `content-type: ${binding.body.mediaType}\r\n`;
  const lines = `accept: ${binding.accept}\r\n${type}${writeHeaders(binding.headers, args, report)}`;
  const url = query === '' ? path : `${path}?${query}`;
  if (url.length + lines.length > MAX_HEAD_LENGTH) report('', 'are too long for the path, the query and the header');
  return faults.length > 0 ? { faults: faults.slice(0, 10) } : { url, lines, body };
}

/** Returns the fixed value, or else the value of the argument. Returns undefined if neither exists. */
function valueOf(
  { fixed, argument }: { readonly fixed?: unknown; readonly argument?: string },
  args: Arguments,
): unknown {
  if (fixed !== undefined) return fixed;
  return argument !== undefined && Object.hasOwn(args, argument) ? args[argument] : undefined;
}

type Report = (field: string, detail: string) => void;

function writePath({ template, path }: ToolBinding, args: Arguments, report: Report): string {
  if (path.length === 0) return template;
  let next = 0;
  return template.replaceAll(/\{[^}]*\}/g, () => {
    const parameter = path[next++] as PathBinding;
    const value = valueOf(parameter, args);
    const raw = value === undefined || value === null ? '' : simpleText(value, parameter, (text) => text);
    const fault = pathFault(raw, parameter);
    if (fault !== undefined) report(parameter.argument ?? parameter.name, fault);
    return simpleText(value ?? '', parameter, percentEncode);
  });
}

/**
 * Returns why a text cannot be the value of a path parameter, or undefined. If slashes are allowed, each part between
 * slashes must be a valid segment.
 */
function pathFault(text: string, { reserved, takesSlashes }: PathBinding): string | undefined {
  if (!takesSlashes) return segmentFault(text, reserved);
  const [first = '', ...others] = text.split('/');
  const faults = [segmentFault(first, reserved), ...others.map((part) => segmentFault(part, []))];
  const fault = faults.find((each) => each !== undefined)?.replace(' /,', '');
  return fault === undefined || others.length === 0 ? fault : `each part between slashes ${fault}`;
}

/**
 * Returns why a text cannot be a path segment, or undefined.
 * @param reserved segments that would lead to another operation, in lower case
 */
function segmentFault(text: string, reserved: readonly string[]): string | undefined {
  if (text === '') return 'must not be empty';
  if (SEPARATOR.test(text)) return 'must not have /, \\, ;, a percent-encoded or a control character';
  if (DOT_SEGMENT.test(text)) return 'must not be . or ..';
  const lower = text.trim().toLowerCase();
  const other = reserved.find(
    (segment) =>
      (isSegmentPattern(segment) && new SegmentPattern(segment).resembles(text)) ||
      lower === segment ||
      (lower.startsWith(segment) && AFTER_SEGMENT.test(lower.slice(segment.length))),
  );
  return other === undefined ? undefined : `must not be \`${other}\`: that leads to another operation`;
}

function writeQuery({ query }: ToolBinding, args: Arguments): string {
  let text = '';
  for (const each of query) {
    for (const pair of queryPairs(valueOf(each, args), each)) text += text === '' ? pair : `&${pair}`;
  }
  return text;
}

function writeHeaders(headers: readonly HeaderBinding[], args: Arguments, report: Report): string {
  let lines = '';
  for (const header of headers) {
    const value = valueOf(header, args);
    if (value === undefined || value === null) continue;
    const text = simpleText(value, header, (part) => part).trim();
    if (FIELD_VALUE.test(text)) lines += `${header.name.toLowerCase()}: ${text}\r\n`;
    else report(nameOf(header), 'must be one line, with no characters beyond Latin-1');
  }
  return lines;
}

function nameOf({ argument, name }: ParameterBinding): string {
  return argument ?? name;
}

/**
 * Serializes the body. Without any value, returns undefined, or an empty body if the body consists of fields and is
 * required.
 */
function writeBody(body: BodyBinding, args: Arguments): Buffer | undefined {
  const whole = body.fixed === undefined ? valueOf(body, args) : body.fixed.value;
  if (body.kind === 'text') return whole === undefined ? undefined : Buffer.from(textOf(whole));
  if (whole !== undefined) return body.kind === 'json' ? json(whole) : form(Object.entries(whole as object), body);
  const given: [string, unknown][] = [];
  for (const field of body.fields) {
    const value = valueOf(field, args);
    if (value !== undefined) given.push([field.name, value]);
  }
  const isOmitted = given.length === 0 && (!body.isRequired || body.argument !== undefined);
  if (isOmitted) return undefined;
  return body.kind === 'json' ? json(Object.fromEntries(given)) : form(given, body);
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/**
 * Serializes a form as `application/x-www-form-urlencoded` (OpenAPI, Encoding Object). Members of nested values get
 * names with brackets.
 */
function form(given: readonly (readonly [string, unknown])[], { fields }: BodyBinding): Buffer {
  const pairs = given.flatMap(([name, value]) => {
    const { style = 'form', explode = true } = fields.find((field) => field.name === name) ?? {};
    const isNested =
      typeof value === 'object' &&
      value !== null &&
      Object.values(value).some((each) => typeof each === 'object' && !isExactNumber(each));
    return queryPairs(value, { name, style: isNested ? 'deepObject' : style, explode, isJson: false });
  });
  return Buffer.from(pairs.join('&'));
}
