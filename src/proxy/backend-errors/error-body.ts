/**
 * Extracts message, machine-readable code and field errors from a backend's JSON error body. Recognizes the formats of
 * RFC 9457, Rails, Laravel, Django REST, FastAPI, Spring, NestJS, JSON:API and the `{"error": {…}}` family by their
 * structure. Anything else yields an empty result.
 */
import type { ErrorMap } from '../../config/model/schema.js';
import { toWellFormedJson } from '../../platform/json/exact-json.js';
import type { FieldError } from '../../platform/problems/errors.js';
import { mappedError } from './error-map.js';
import { isFieldTree, propertyOfSentence } from './field-shapes.js';

export interface ErrorMeaning {
  readonly detail?: string;
  /** The backend's machine-readable code. */
  readonly reason?: string;
  readonly errors?: readonly FieldError[];
}

const LONGEST_TEXT = 1_000;
const MOST_FIELDS = 100;
/** Maximum depth of nested field errors. */
const MOST_LEVELS = 16;
const REASON = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
/**
 * Matches messages that expose internals: stack traces, source paths, markup, SQL, and names of PHP or Java classes.
 * Laravel and Symfony name the model in a 404. Spring names class and method for wrong parameters. Keep every
 * alternative linear in the length of the text. Backends echo client input, so a pattern with quadratic cost could be
 * exploited.
 */
const NOT_FOR_CLIENTS = new RegExp(
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
 * Reads an error body. Returns an empty result if `body` is undefined or not JSON.
 * @param map pointers to message, code and fields for this service. Unmapped values are searched in the usual places.
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
  if (map === undefined) return usualMeaning(parsed);
  const { message, code, fields } = mappedError(parsed, map);
  return {
    ...usualMeaning(parsed),
    ...compact({
      detail: clientText(message),
      reason: reasonText(code),
      errors: fields === undefined ? undefined : fieldErrors(fields, ''),
    }),
  };
}

function usualMeaning(parsed: unknown): ErrorMeaning {
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
  const said: Mutable<ErrorMeaning> = {};
  if (detail !== undefined) said.detail = detail;
  if (reason !== undefined) said.reason = reason;
  if (errors !== undefined && errors.length > 0) said.errors = errors;
  return said;
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

/** Accepts numbers as well, because the field is known to hold a code. */
function reasonText(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' && REASON.test(value) ? value : undefined;
}

/** Returns a text that is safe to show to a client, shortened if necessary. */
function clientText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (text === '' || NOT_FOR_CLIENTS.test(text)) return undefined;
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}

/** Searches the keys under which frameworks list field errors. */
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

/** Reads a Django REST body, which consists of the fields alone: `{"email": ["Enter a valid email address."]}`. */
function djangoFields(object: Json): FieldError[] | undefined {
  const usual = findFieldErrors(object);
  if (usual !== undefined) return usual;
  const entries = Object.entries(object);
  const allFields = entries.length > 0 && entries.every(([, value]) => isFieldTree(value));
  return allFields ? fieldErrors(object, '') : undefined;
}

/** Reads class-validator sentences of NestJS in `message`. The first words of each sentence name the property. */
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

function fieldErrors(value: unknown, pointer: string, level = 0): FieldError[] {
  if (level > MOST_LEVELS) return [];
  const found = Array.isArray(value)
    ? value.flatMap((entry, index) => listEntry(entry, pointer, index, level + 1))
    : isObject(value)
      ? Object.entries(value).flatMap(([name, entry]) =>
          mapEntry(WHOLE_BODY.has(name) ? pointer : `${pointer}${pointerTo(pathParts(name))}`, entry, level + 1),
        )
      : [];
  return found.slice(0, MOST_FIELDS);
}

/** Reads a list entry: a text, or an object that names its field. */
function listEntry(entry: unknown, pointer: string, index: number, level: number): FieldError[] {
  const text = clientText(entry);
  if (text !== undefined) return [{ detail: text, ...(pointer === '' ? {} : { pointer: `#${pointer}` }) }];
  if (!isObject(entry)) return [];
  const detail = ['detail', 'message', 'msg', 'defaultMessage', 'description', 'reason', 'title']
    .map((key) => clientText(entry[key]))
    .find((candidate) => candidate !== undefined);
  const constraints = isObject(entry['constraints']) ? Object.values(entry['constraints']).filter(isText) : [];
  const where = pointerOf(entry);
  const words = detail ?? constraints.join('; ');
  if (words === '') {
    // Django REST: a nested list has one entry per item. A top-level list has entries without an index.
    return isFieldTree(entry) ? fieldErrors(entry, pointer === '' ? '' : `${pointer}/${index}`, level) : [];
  }
  const code = reasonText(entry['code']);
  return [
    {
      detail: words,
      ...where,
      ...(code === undefined ? {} : { code }),
    },
  ];
}

/** Reads a map entry from field to message, messages or nested fields. */
function mapEntry(pointer: string, entry: unknown, level: number): FieldError[] {
  const text = clientText(entry);
  if (text !== undefined) return [{ detail: text, ...(pointer === '' ? {} : { pointer: `#${pointer}` }) }];
  return fieldErrors(entry, pointer, level);
}

/**
 * Returns the location of a field error. A place in the body is a JSON Pointer in fragment form (RFC 6901 section 6). A
 * place in query, path, header or cookie is a `parameter`.
 */
function pointerOf(entry: Json): { pointer?: string; parameter?: string } {
  // FastAPI: the location is an offset in text that could not be parsed.
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

/** Splits `items[0].name` or Laravel's `items.0.name` into items, 0, name. Removes the leading `$` of .NET paths. */
function pathParts(path: string): string[] {
  return path
    .replace(/^\$\.(?=.)/, '')
    .replaceAll(/\[(\w+)\]/g, '.$1')
    .split('.');
}

/** Encodes a JSON Pointer (RFC 6901 section 3). */
function pointerTo(parts: readonly string[]): string {
  return parts.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
