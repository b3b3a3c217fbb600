/** Serializes values for paths, queries, header fields and forms (OpenAPI, Style Values; RFC 3986, RFC 6570). */
import { isExactNumber, plainDigits } from '../../../platform/json/exact-json.js';
import type { ParameterBinding, QueryStyle } from '../../model/described-tool.js';

/** Separators of list items within a single value, percent-encoded where necessary. */
const SEPARATORS = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C', deepObject: ',' } as const;
/** Matches texts of unreserved characters (RFC 3986 section 2.3), which need no encoding. */
const UNRESERVED = /^[\w.~-]*$/;
/** Maximum number of nested brackets in a name. Deeper values are serialized as JSON. */
const DEEPEST_BRACKETS = 8;

/**
 * Serializes a value in style `simple`, which separates the items of lists and objects by commas.
 * @param encode encodes each item
 */
export function simpleText(
  value: unknown,
  { explode, isJson }: ParameterBinding,
  encode: (text: string) => string,
): string {
  if (isJson) return encode(JSON.stringify(value));
  if (Array.isArray(value)) return value.map((each) => encode(textOf(each))).join(',');
  if (!isMap(value)) return encode(textOf(value));
  const members = Object.entries(value).map(([name, each]) => [encode(name), encode(textOf(each))]);
  return members.map((member) => member.join(explode ? '=' : ',')).join(',');
}

/** QueryWriting describes how to serialize a query parameter or a form field. */
export interface QueryWriting {
  readonly name: string;
  readonly style: QueryStyle;
  readonly explode: boolean;
  readonly isJson: boolean;
}

/** Returns encoded `name=value` pairs. Empty lists, empty objects, null and undefined give no pairs. */
export function queryPairs(value: unknown, { name, style, explode, isJson }: QueryWriting): string[] {
  const key = percentEncode(name);
  if (value === null || value === undefined) return [];
  if (isJson) return [`${key}=${percentEncode(JSON.stringify(value))}`];
  if (style === 'deepObject' && typeof value === 'object' && !isExactNumber(value))
    return bracketPairs(key, value, DEEPEST_BRACKETS);
  if (Array.isArray(value)) {
    const items = value.map((each) => percentEncode(textOf(each)));
    if (explode) return items.map((item) => `${key}=${item}`);
    return items.length === 0 ? [] : [`${key}=${items.join(SEPARATORS[style])}`];
  }
  if (!isMap(value)) return [`${key}=${percentEncode(textOf(value))}`];
  const members = Object.entries(value).map(
    ([member, each]) => [percentEncode(member), percentEncode(textOf(each))] as const,
  );
  if (explode) return members.map(([member, each]) => `${member}=${each}`);
  return members.length === 0 ? [] : [`${key}=${members.flat().join(SEPARATORS[style])}`];
}

/** Returns pairs such as `filter[status]=active` and `lines[0][amount]=5`, with encoded brackets. */
function bracketPairs(key: string, value: unknown, depthLeft: number): string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object' || isExactNumber(value) || depthLeft === 0)
    return [`${key}=${percentEncode(textOf(value))}`];
  return Object.entries(value).flatMap(([name, each]) =>
    bracketPairs(`${key}%5B${percentEncode(name)}%5D`, each, depthLeft - 1),
  );
}

/** Converts a value to text. Lists and objects become JSON. Null and undefined become an empty text. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (isExactNumber(value)) return plainDigits(value);
  return value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Percent-encodes a text (RFC 3986 section 2.1). Unpaired surrogates become U+FFFD. */
export function percentEncode(text: string): string {
  return UNRESERVED.test(text) ? text : encodeURIComponent(text.toWellFormed());
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !isExactNumber(value);
}
