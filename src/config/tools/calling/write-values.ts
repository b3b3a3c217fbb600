/** How values are written into paths, queries, header fields and forms (OpenAPI, Style Values; RFC 3986, RFC 6570). */
import { isExactNumber, plainDigits } from '../../../platform/json/exact-json.js';
import type { ParameterBinding, QueryStyle } from '../../model/described-tool.js';

/** The separators of lists that are one value, percent-encoded where a URL cannot have them. */
const SEPARATORS = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C', deepObject: ',' } as const;
/** What stands for itself (RFC 3986 section 2.3), as nearly every name and number does. */
const UNRESERVED = /^[\w.~-]*$/;
/** How deep objects are written in brackets. */
const DEEPEST_BRACKETS = 8;

/** The value of a parameter as text, in style `simple`: lists and objects with commas. @param encode one part of it. */
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

/** How the value of a query, or of a form, is written. */
export interface QueryWriting {
  readonly name: string;
  readonly style: QueryStyle;
  readonly explode: boolean;
  readonly isJson: boolean;
}

/** `name=value` pairs, encoded; none of an empty list or object, and none of `null`. */
export function queryPairs(value: unknown, { name, style, explode, isJson }: QueryWriting): string[] {
  const key = encode(name);
  if (value === null || value === undefined) return [];
  if (isJson) return [`${key}=${encode(JSON.stringify(value))}`];
  if (style === 'deepObject' && typeof value === 'object' && !isExactNumber(value))
    return bracketPairs(key, value, DEEPEST_BRACKETS);
  if (Array.isArray(value)) {
    const items = value.map((each) => encode(textOf(each)));
    if (explode) return items.map((item) => `${key}=${item}`);
    return items.length === 0 ? [] : [`${key}=${items.join(SEPARATORS[style])}`];
  }
  if (!isMap(value)) return [`${key}=${encode(textOf(value))}`];
  const members = Object.entries(value).map(([member, each]) => [encode(member), encode(textOf(each))] as const);
  if (explode) return members.map(([member, each]) => `${member}=${each}`);
  return members.length === 0 ? [] : [`${key}=${members.flat().join(SEPARATORS[style])}`];
}

/** `filter[status]=active`, `lines[0][amount]=5`: what is nested has brackets of its own. */
function bracketPairs(key: string, value: unknown, depthLeft: number): string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object' || isExactNumber(value) || depthLeft === 0) return [`${key}=${encode(textOf(value))}`];
  return Object.entries(value).flatMap(([name, each]) =>
    bracketPairs(`${key}%5B${encode(name)}%5D`, each, depthLeft - 1),
  );
}

/** A single value as text; what is nested where it cannot be, as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (isExactNumber(value)) return plainDigits(value);
  return value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Percent-encoded (RFC 3986 section 2.1); half of a surrogate pair becomes U+FFFD. */
export function encode(text: string): string {
  return UNRESERVED.test(text) ? text : encodeURIComponent(text.toWellFormed());
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !isExactNumber(value);
}
