/**
 * Extracts message, machine-readable code and field errors from a backend's JSON error body. Recognizes the formats of
 * RFC 9457, Rails, Laravel, Django REST, FastAPI, Spring, NestJS, JSON:API and the `{"error": {…}}` family by their
 * structure. Any other body yields an empty result.
 */
import type { ErrorMap } from '../../config/model/schema.js';
import { toWellFormedJson } from '../../platform/json/exact-json.js';
import type { FieldError } from '../../platform/problems/errors.js';
import { mappedError } from './error-map.js';
import { isFieldTree, propertyOfSentence } from './field-shapes.js';

/**
 * ErrorMeaning is the content of an error body that the client may see. Members that the body does not contain are
 * absent.
 */
export interface ErrorMeaning {
  /** Message that is safe to show to the client. */
  readonly detail?: string;
  /** The backend's machine-readable code. */
  readonly reason?: string;
  readonly errors?: readonly FieldError[];
}

/** Maximum message length in UTF-16 code units. Longer messages are truncated. */
const LONGEST_TEXT = 1_000;
const MAX_FIELDS = 100;
/** Maximum depth of nested field errors. */
const MAX_LEVELS = 16;
/** Format of a machine-readable code. */
const REASON = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
/**
 * Matches messages that expose internals: stack traces, source paths, markup, SQL, and names of PHP or Java classes.
 * Laravel and Symfony name the model class in the message of a 404. Spring names class and method for wrong parameters.
 * Keep every alternative linear in the length of the text. Backends echo client input, so clients could exploit a
 * pattern with quadratic cost.
 */
const EXPOSES_INTERNALS = new RegExp(
  [
    /\n[^\S\n]*at |Traceback \(most recent|<[a-z!/]|[A-Za-z0-9_$](?:Exception|Error):/,
    /\.(?:java|py|rb|php|js|ts|go|cs):\d+|\bSELECT .{0,500} FROM\b|\b(?:App|Illuminate|Symfony|Doctrine)\\/,
    /\bjava\.(?:lang|util)\.|\bmethod='/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);

/** Keys for errors that concern the body as a whole (Django, Rails). */
const WHOLE_BODY: ReadonlySet<string> = new Set(['non_field_errors', '__all__', 'base']);

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };
type Json = Readonly<Record<string, unknown>>;

/**
 * Reads an error body. Returns an empty result if the content type or the body is not JSON.
 * @param map the service's JSON Pointers to message, code and fields. If a pointer finds no usable value, the value
 *   comes from the places where frameworks put it.
 */
export function readErrorBody(
  contentType: string | undefined,
  body: string | undefined,
  map?: ErrorMap | undefined,
): ErrorMeaning {
  if (body === undefined || body === '' || !/[/+]json\b/i.test(contentType ?? '')) return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(toWellFormedJson(body));
  } catch {
    return {};
  }
  if (map === undefined) return frameworkMeaning(parsed);
  const { message, code, fields } = mappedError(parsed, map);
  return {
    ...frameworkMeaning(parsed),
    ...compact({
      detail: clientText(message),
      reason: reasonText(code),
      errors: fields === undefined ? undefined : fieldErrors(fields, ''),
    }),
  };
}

/** Finds message, code and field errors in the places where frameworks put them. */
function frameworkMeaning(parsed: unknown): ErrorMeaning {
  if (Array.isArray(parsed)) return compact({ errors: fieldErrors(parsed, '') });
  if (!isObject(parsed)) return {};
  const inner = isObject(parsed['error']) ? parsed['error'] : parsed;
  return compact({
    detail: messageOf(inner) ?? (inner === parsed ? undefined : messageOf(parsed)),
    reason: reasonOf(inner) ?? (inner === parsed ? undefined : reasonOf(parsed)),
    errors:
      nestFields(parsed) ??
      findFieldErrors(inner) ??
      (inner === parsed ? djangoFields(parsed) : findFieldErrors(parsed)),
  });
}

function compact(meaning: {
  detail?: string | undefined;
  reason?: string | undefined;
  errors?: readonly FieldError[] | undefined;
}): ErrorMeaning {
  const { detail, reason, errors } = meaning;
  const result: Mutable<ErrorMeaning> = {};
  if (detail !== undefined) result.detail = detail;
  if (reason !== undefined) result.reason = reason;
  if (errors !== undefined && errors.length > 0) result.errors = errors;
  return result;
}

function messageOf(object: Json): string | undefined {
  for (const key of ['detail', 'message', 'error_description', 'error_message', 'error', 'msg', 'title']) {
    const text = clientText(object[key]);
    if (text !== undefined) return text;
  }
  return undefined;
}

function reasonOf(object: Json): string | undefined {
  for (const key of ['code', 'error_code', 'reason', 'type', 'error']) {
    const value = object[key];
    if (typeof value === 'string' && REASON.test(value) && !value.includes('Exception')) return value;
  }
  return undefined;
}

/** Converts the value of a known code field into a reason. Accepts numbers, unlike `reasonOf`. */
function reasonText(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' && REASON.test(value) ? value : undefined;
}

/**
 * Returns a text for the client, truncated to `LONGEST_TEXT`. Returns undefined if the value is no string, is empty, or
 * exposes internals.
 */
function clientText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (text === '' || EXPOSES_INTERNALS.test(text)) return undefined;
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}

/** Returns the field errors under the first known key that contains any; undefined if no known key does. */
function findFieldErrors(object: Json): FieldError[] | undefined {
  for (const key of [
    'errors',
    'fields',
    'violations',
    'invalid_params',
    'invalid-params',
    'details',
    'detail',
    'message',
  ]) {
    const value = object[key];
    if (value === null || typeof value !== 'object') continue;
    const found = fieldErrors(value, '');
    if (found.length > 0) return found;
  }
  return undefined;
}

/**
 * Reads a Django REST body, which consists of the fields alone: `{"email": ["Enter a valid email address."]}`. Returns
 * undefined for any other body without field errors.
 */
function djangoFields(object: Json): FieldError[] | undefined {
  const usual = findFieldErrors(object);
  if (usual !== undefined) return usual;
  const entries = Object.entries(object);
  const allFields = entries.length > 0 && entries.every(([, value]) => isFieldTree(value));
  return allFields ? fieldErrors(object, '') : undefined;
}

/**
 * Reads the class-validator sentences in `message` of a NestJS body. Each sentence names its property. Returns
 * undefined for bodies in another format.
 */
function nestFields(object: Json): FieldError[] | undefined {
  const { message, statusCode } = object;
  if (!Array.isArray(message) || typeof statusCode !== 'number') return undefined;
  return fieldErrors(message, '').map((error) => {
    const property = propertyOfSentence(error.detail);
    return property === undefined || error.pointer !== undefined
      ? error
      : { ...error, pointer: `#${pointerTo(pathParts(property))}` };
  });
}

/** Reads field errors from a list or a map. @param pointer JSON Pointer to the field that contains `value`. */
function fieldErrors(value: unknown, pointer: string, level = 0): FieldError[] {
  if (level > MAX_LEVELS) return [];
  const found = Array.isArray(value)
    ? value.flatMap((entry, index) => listEntry(entry, pointer, index, level + 1))
    : isObject(value)
      ? Object.entries(value).flatMap(([name, entry]) =>
          mapEntry(WHOLE_BODY.has(name) ? pointer : `${pointer}${pointerTo(pathParts(name))}`, entry, level + 1),
        )
      : [];
  return found.slice(0, MAX_FIELDS);
}

/** Reads a list entry: a message, an object with the message and the name of its field, or nested field errors. */
function listEntry(entry: unknown, pointer: string, index: number, level: number): FieldError[] {
  const text = clientText(entry);
  if (text !== undefined) return [{ detail: text, ...(pointer === '' ? {} : { pointer: `#${pointer}` }) }];
  if (!isObject(entry)) return [];
  const detail = ['detail', 'message', 'msg', 'defaultMessage', 'description', 'reason', 'title']
    .map((key) => clientText(entry[key]))
    .find((candidate) => candidate !== undefined);
  const constraints = isObject(entry['constraints']) ? Object.values(entry['constraints']).filter(isText) : [];
  const location = locationOf(entry);
  const message = detail ?? constraints.join('; ');
  if (message === '') {
    // Django REST: a nested list has one entry per item. A top-level list has entries without an index.
    return isFieldTree(entry) ? fieldErrors(entry, pointer === '' ? '' : `${pointer}/${index}`, level) : [];
  }
  const code = reasonText(entry['code']);
  return [
    {
      detail: message,
      ...location,
      ...(code === undefined ? {} : { code }),
    },
  ];
}

/** Reads the value of one field in a map: a message, a list of messages, or nested fields. */
function mapEntry(pointer: string, entry: unknown, level: number): FieldError[] {
  const text = clientText(entry);
  if (text !== undefined) return [{ detail: text, ...(pointer === '' ? {} : { pointer: `#${pointer}` }) }];
  return fieldErrors(entry, pointer, level);
}

/**
 * Returns the location of a field error. A location in the body is a JSON Pointer in fragment form (RFC 6901 section
 * 6). A location in query, path, header or cookie is a `parameter`.
 */
function locationOf(entry: Json): { pointer?: string; parameter?: string } {
  // FastAPI could not parse the body, so the location is only an offset in the text of the body.
  if (entry['type'] === 'json_invalid') return {};
  const source = entry['source'];
  if (isObject(source)) {
    if (typeof source['pointer'] === 'string') return { pointer: `#${source['pointer'].replace(/^#/, '')}` };
    if (typeof source['parameter'] === 'string') return { parameter: source['parameter'] };
  }
  for (const key of ['param', 'parameter']) {
    const value = entry[key];
    if (typeof value === 'string' && value !== '') return { parameter: value };
  }
  if (typeof entry['pointer'] === 'string') return { pointer: `#${entry['pointer'].replace(/^#/, '')}` };
  for (const key of ['loc', 'path', 'field', 'property', 'propertyPath', 'name', 'attribute']) {
    const value = entry[key];
    const parts = Array.isArray(value)
      ? value.filter((part) => typeof part === 'string' || typeof part === 'number').map(String)
      : typeof value === 'string' && value !== ''
        ? pathParts(value)
        : [];
    if (parts.length === 0) continue;
    const [first = '', ...rest] = parts;
    if (key === 'loc' && ['query', 'path', 'header', 'cookie'].includes(first)) return { parameter: rest.join('.') };
    return { pointer: `#${pointerTo(key === 'loc' && first === 'body' ? rest : parts)}` };
  }
  return {};
}

/** Splits `items[0].name`, or Laravel's `items.0.name`, into its parts. Removes the leading `$.` of .NET paths. */
function pathParts(path: string): string[] {
  return path
    .replace(/^\$\.(?=.)/, '')
    .replaceAll(/\[(\w+)\]/g, '.$1')
    .split('.');
}

/** Builds a JSON Pointer from its unescaped parts (RFC 6901 section 3). */
function pointerTo(parts: readonly string[]): string {
  return parts.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
