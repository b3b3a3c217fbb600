/** Validates single values of tool arguments against a schema: type, allowed values, bounds, patterns and formats. */
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

const MAX_VALUES_NAMED = 20;
const MAX_SHOWN_LENGTH = 200;
/** Maximum length of a text whose format is checked, in UTF-16 units. */
const MAX_FORMAT_LENGTH = 2_000;
/** Matches an integer of at least 16 digits. 2^53 has 16 digits. */
const LONG_INTEGER = /^-?[1-9]\d{15,399}$/;
/** Matches an integer in the syntax of JSON. */
const INTEGER = /^-?(?:0|[1-9]\d{0,399})$/;
const ROUNDED_MESSAGE = 'is beyond 2^53 and may have been rounded: send it as a text with all of its digits';

/** Type names for messages. */
const TYPES: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'a list',
  integer: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  null: 'null',
};

/** Formats that are checked, with their messages. Other formats are ignored. */
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

/** Checks the type of a value. If the schema does not allow the type, adds a fault and returns false. */
export function isOfType(value: unknown, schema: JsonObject, place: Place | undefined, faults: Fault[]): boolean {
  const { type } = schema;
  if (type === undefined || (typeof type === 'string' && isOfOneType(value, type))) return true;
  const all = Array.isArray(type) ? (type as string[]) : [type as string];
  // If a schema allows only integers, its type `string` stands for integers that are written as text.
  const types = isInteger(schema) ? all.filter((one) => one !== 'string') : all;
  if (types.some((one) => isOfOneType(value, one))) return true;
  const words = types.map((one) => TYPES[one] ?? one).join(' or ');
  faults.push({ place, kind: 'type', detail: `must be ${words}, not ${kindOf(value)}` });
  return false;
}

/** Reports whether a value has a JSON Schema type. 1.0 counts as an integer. */
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
 * Reports whether a value is an integer that is written as text, where the schema allows only integers. Long integers
 * may be sent as text, because JavaScript hosts of assistants round them. Short integers may be sent as text only if
 * the schema allows text.
 */
export function isWrittenInteger(value: unknown, schema: JsonObject): value is string {
  if (typeof value !== 'string' || !isInteger(schema)) return false;
  return (Array.isArray(schema['type']) && schema['type'].includes('string') ? INTEGER : LONG_INTEGER).test(value);
}

/** Reports whether all numbers that a schema allows are integers. Text is allowed only in the form of long integers. */
function isInteger({ type, format, pattern }: JsonObject): boolean {
  if (!Array.isArray(type)) return type === 'integer';
  if (!type.includes('integer') || type.includes('number')) return false;
  return !type.includes('string') || (LONG_FORMATS.has(format) && pattern === LONG_DIGITS);
}

/**
 * Adds the faults of a value of the right type: allowed values, bounds, length, pattern and format.
 * @param isExact false if the number was read from a text, so that it cannot have been rounded
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
    const mayHaveBeenRounded = isExact && isInteger(schema) && mayBeRounded(value as number | ExactNumber);
    if (mayHaveBeenRounded) faults.push({ place, kind: 'other', detail: ROUNDED_MESSAGE });
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
  // Allow for rounding. In floating point, 0.3 is not an exact multiple of 0.1.
  if (typeof multipleOf !== 'number') return;
  const times = value / multipleOf;
  if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times)))
    report(`must be a multiple of ${multipleOf}`);
}

function textFaults(value: string, schema: JsonObject, place: Place | undefined, faults: Fault[]): void {
  const { minLength, maxLength, pattern, format } = schema;
  const report = (detail: string, kind: Fault['kind'] = 'other'): void => void faults.push({ place, kind, detail });
  // The length is the number of code points (JSON Schema Validation, section 6.3). This number is at most the number of
  // UTF-16 units, so most texts need no counting.
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
  if (typeof format !== 'string' || !Object.hasOwn(FORMATS, format) || value.length > MAX_FORMAT_LENGTH) return;
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
  const named = values.slice(0, MAX_VALUES_NAMED).map(shown);
  return `one of ${named.join(', ')}${values.length > named.length ? ` and ${values.length - named.length} more` : ''}`;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= MAX_SHOWN_LENGTH ? text : `${text.slice(0, MAX_SHOWN_LENGTH)}…`;
}
