/** Converts validated arguments to a request: path, query, field lines, body. */
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
import { encode, queryPairs, simpleText, textOf } from './write-values.js';

type Arguments = Readonly<Record<string, unknown>>;

/** Same limit as for request heads from clients. */
const LONGEST_HEAD = 16 * 1024;
/** Characters that could end or split a segment in software that decodes too early or twice. */
const DIVIDES = /[/\\;\p{Cc}]|%[0-9a-f]{2}/iu;
const DOTS = /^\s*\.\.?\s*(?:[?#]|$)/;
/** Characters after a fixed segment that some backends truncate. */
const AFTER_SEGMENT = /^[.?#\s]/;
/** Valid field values (RFC 9110 section 5.5), without Latin-1 control characters. */
const FIELD_VALUE = /^[\t\x20-\x7e\xa0-\xff]*$/;

/** Creates the request. @param args valid according to the input schema */
export function bindArguments(binding: ToolBinding, args: Arguments): BoundRequest | ArgumentFaults {
  const faults: ArgumentFault[] = [];
  const report = (field: string, detail: string): void => void faults.push({ field, detail });
  const path = writePath(binding, args, report);
  const query = writeQuery(binding, args);
  const body = binding.body === undefined ? undefined : writeBody(binding.body, args);
  const type = body === undefined || binding.body === undefined ? '' : `content-type: ${binding.body.mediaType}\r\n`;
  const lines = `accept: ${binding.accept}\r\n${type}${writeHeaders(binding.headers, args, report)}`;
  const url = query === '' ? path : `${path}?${query}`;
  if (url.length + lines.length > LONGEST_HEAD) report('', 'are too long for the path, the query and the header');
  return faults.length > 0 ? { faults: faults.slice(0, 10) } : { url, lines, body };
}

/** Returns the fixed value or the argument's value, or undefined. */
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
    return simpleText(value ?? '', parameter, encode);
  });
}

/** Returns why a text cannot be a path parameter. Each part between slashes must be a valid segment. */
function pathFault(text: string, { reserved, takesSlashes }: PathBinding): string | undefined {
  if (!takesSlashes) return segmentFault(text, reserved);
  const [first = '', ...others] = text.split('/');
  const faults = [segmentFault(first, reserved), ...others.map((part) => segmentFault(part, []))];
  const fault = faults.find((each) => each !== undefined)?.replace(' /,', '');
  return fault === undefined || others.length === 0 ? fault : `each part between slashes ${fault}`;
}

/** Returns why a text cannot be a path segment of this operation. */
function segmentFault(text: string, reserved: readonly string[]): string | undefined {
  if (text === '') return 'must not be empty';
  if (DIVIDES.test(text)) return 'must not have /, \\, ;, a percent-encoded or a control character';
  if (DOTS.test(text)) return 'must not be . or ..';
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

/** Serializes the body. Returns undefined if an optional body has no values. */
function writeBody(body: BodyBinding, args: Arguments): Buffer | undefined {
  const whole = body.fixed === undefined ? valueOf(body, args) : body.fixed.value;
  if (body.kind === 'text') return whole === undefined ? undefined : Buffer.from(textOf(whole));
  if (whole !== undefined) return body.kind === 'json' ? json(whole) : form(Object.entries(whole as object), body);
  const given: [string, unknown][] = [];
  for (const field of body.fields) {
    const value = valueOf(field, args);
    if (value !== undefined) given.push([field.name, value]);
  }
  const isLeftOut = given.length === 0 && (!body.isRequired || body.argument !== undefined);
  if (isLeftOut) return undefined;
  return body.kind === 'json' ? json(Object.fromEntries(given)) : form(given, body);
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Serializes `application/x-www-form-urlencoded` (OpenAPI, Encoding Object), with brackets for nested values. */
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
