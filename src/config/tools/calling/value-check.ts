/** Validates single values: type, allowed values, bounds. */
import { isDeepStrictEqual } from 'node:util';
import { fastFormats } from 'ajv-formats/dist/formats.js';
import {
  digitsOf,
  type ExactNumber,
  isExactNumber,
  isWhole,
  mayBeRounded,
  numberOf,
  toPlain,
} from '../../../platform/json/exact-json.js';
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import { patternOf } from './bounded-pattern.js';
import { LONG_DIGITS, LONG_FORMATS } from '../tool.js';
import type { Fault, Place } from './fault.js';

const MOST_VALUES_NAMED = 20;
const LONGEST_SHOWN = 200;
/** Maximum text length for format checks. */
const LONGEST_FORMATTED = 2_000;
/** At least 16 digits, as 2^53 has. */
const LONG_INTEGER = /^-?[1-9]\d{15,399}$/;
/** An integer as JSON writes it. */
const INTEGER = /^-?(?:0|[1-9]\d{0,399})$/;
const DOUBTFUL = 'is beyond 2^53 and may have been rounded: send it as a text with all of its digits';

const TYPES: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'a list',
  integer: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  null: 'null',
};

/** Formats that are checked, with their messages. Others are ignored. */
const FORMATS = {
  date: 'a date such as 2027-01-31',
  'date-time': 'a time with its zone, such as 2027-01-31T10:00:00Z',
  time: 'a time of day with its zone, such as 10:00:00Z',
  email: 'an email address',
  uuid: 'a UUID',
  uri: 'a URL such as https://example.com/',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  hostname: 'a host name',
} as const;

/** Checks a value's type. Adds a fault and returns false if the schema does not allow it. */
export function isOfType(value: unknown, schema: JsonObject, place: Place | undefined, faults: Fault[]): boolean {
  const { type } = schema;
  if (type === undefined || (typeof type === 'string' && isOfOneType(value, type))) return true;
  const all = Array.isArray(type) ? (type as string[]) : [type as string];
  // The string alternative only serves integers.
  const types = isInteger(schema) ? all.filter((one) => one !== 'string') : all;
  if (types.some((one) => isOfOneType(value, one))) return true;
  const words = types.map((one) => TYPES[one] ?? one).join(' or ');
  faults.push({ place, kind: 'type', detail: `must be ${words}, not ${kindOf(value)}` });
  return false;
}

/** Reports whether a value has a JSON Schema type. 1.0 is an integer. */
export function isOfOneType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return (typeof value === 'number' || isExactNumber(value)) && isWhole(value);
    case 'number':
      return Number.isFinite(numberOf(value));
    default:
      return typeof value === type;
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number' || isExactNumber(value)) return shown(digitsOf(value));
  return TYPES[typeof value] ?? typeof value;
}

/**
 * Reports whether a text is an integer, where the schema allows only integers. JavaScript hosts round long integers, so they
 * may be sent as text. Short ones may be sent as text where the schema of the tool allows it.
 */
export function isWrittenInteger(value: unknown, schema: JsonObject): value is string {
  if (typeof value !== 'string' || !isInteger(schema)) return false;
  return (Array.isArray(schema['type']) && schema['type'].includes('string') ? INTEGER : LONG_INTEGER).test(value);
}

/** Reports whether a schema means integers only, including those that may be sent as text. */
function isInteger({ type, format, pattern }: JsonObject): boolean {
  if (!Array.isArray(type)) return type === 'integer';
  if (!type.includes('integer') || type.includes('number')) return false;
  return !type.includes('string') || (LONG_FORMATS.has(format) && pattern === LONG_DIGITS);
}

/**
 * Adds faults of a value's content.
 * @param isExact false: only the size of a number is checked, because its digits are known
 */
export function valueFaults(
  value: unknown,
  schema: JsonObject,
  place: Place | undefined,
  faults: Fault[],
  isExact = true,
): void {
  const { enum: values } = schema;
  if (Array.isArray(values) && !values.some((each) => isSame(each, value))) {
    faults.push({ place, kind: 'value', detail: `must be ${oneOf(values as unknown[])}` });
  }
  if (schema['const'] !== undefined && !isSame(schema['const'], value)) {
    faults.push({ place, kind: 'value', detail: `must be ${shown(schema['const'])}` });
  }
  const number = numberOf(value);
  if (number !== undefined) {
    numberFaults(number, schema, place, faults);
    const isDoubtful = isExact && isInteger(schema) && mayBeRounded(value as number | ExactNumber);
    if (isDoubtful) faults.push({ place, kind: 'other', detail: DOUBTFUL });
  } else if (typeof value === 'string') textFaults(value, schema, place, faults);
}

function numberFaults(value: number, schema: JsonObject, place: Place | undefined, faults: Fault[]): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const report = (detail: string): void => void faults.push({ place, kind: 'other', detail });
  if (typeof minimum === 'number' && value < minimum) report(`must be at least ${minimum}`);
  if (typeof maximum === 'number' && value > maximum) report(`must be at most ${maximum}`);
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    report(`must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
    report(`must be less than ${exclusiveMaximum}`);
  // Floating point: 0.3 is not an exact multiple of 0.1.
  if (typeof multipleOf !== 'number') return;
  const times = value / multipleOf;
  if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times)))
    report(`must be a multiple of ${multipleOf}`);
}

function textFaults(value: string, schema: JsonObject, place: Place | undefined, faults: Fault[]): void {
  const { minLength, maxLength, pattern, format } = schema;
  const report = (detail: string, kind: Fault['kind'] = 'other'): void => void faults.push({ place, kind, detail });
  // Length counts code points (JSON Schema Validation, section 6.3), of which there are never more than UTF-16 units.
  const isShort =
    typeof minLength === 'number' &&
    (value.length < minLength || (value.length < 2 * minLength && countOf(value) < minLength));
  if (isShort) report(minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`);
  const isLong =
    typeof maxLength === 'number' &&
    value.length > maxLength &&
    (value.length > 2 * maxLength || countOf(value) > maxLength);
  if (isLong) report(`must have at most ${maxLength} characters`);
  if (typeof pattern === 'string' && patternOf(pattern).isMatch(value) === false)
    report(`must match ${shown(pattern)}`);
  if (typeof format !== 'string' || !Object.hasOwn(FORMATS, format) || value.length > LONGEST_FORMATTED) return;
  const name = format as keyof typeof FORMATS;
  if (!isFormatted(value, name)) report(`must be ${FORMATS[name]}`, 'value');
}

function isFormatted(value: string, format: keyof typeof FORMATS): boolean {
  const check = fastFormats[format] as RegExp | { readonly validate: RegExp | ((text: string) => boolean) };
  const validate = check instanceof RegExp ? check : check.validate;
  return validate instanceof RegExp ? validate.test(value) : validate(value);
}

function countOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  return typeof other === 'object' && isDeepStrictEqual(one, toPlain(other));
}

function oneOf(values: readonly unknown[]): string {
  if (values.length === 1) return shown(values[0]);
  const named = values.slice(0, MOST_VALUES_NAMED).map(shown);
  return `one of ${named.join(', ')}${values.length > named.length ? ` and ${values.length - named.length} more` : ''}`;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`;
}
