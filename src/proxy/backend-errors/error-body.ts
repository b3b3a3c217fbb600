/**
 * What a backend's JSON error says, whatever framework wrote it: a message, a machine-readable reason, the
 * fields that are wrong. Knows the shapes of RFC 9457, Rails, Laravel, Django REST, FastAPI, Spring,
 * NestJS, JSON:API and the `{"error": {…}}` family by where they put things, not by name. Anything that is
 * not JSON of such a shape says nothing.
 */
import type { ErrorMap } from '../../config/model/schema.js';
import { toWellFormedJson } from '../../platform/json/exact-json.js';
import type { FieldError } from '../../platform/problems/errors.js';
import { mappedError } from './error-map.js';
import { isFieldTree, propertyOfSentence } from './field-shapes.js';

export interface ErrorMeaning {
  readonly detail?: string;
  /** The backend's own machine-readable code. */
  readonly reason?: string;
  readonly errors?: readonly FieldError[];
}

const LONGEST_TEXT = 1_000;
const MOST_FIELDS = 100;
/** Levels of fields in fields that are followed; what is deeper was not written for people. */
const MOST_LEVELS = 16;
const REASON = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
/**
 * A message with these in it was written for developers: a stack trace, a path, markup, an SQL statement, a class
 * of PHP (the 404 of Laravel and Symfony names the model), a class or method of Java (Spring, for wrong
 * parameters). Nothing in it may be tried from every position over the rest of the text: backends repeat what a
 * client sent, and the time would be its square.
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

/** Names under which frameworks put what is wrong with the whole of the body (Django, Rails). */
const WHOLE_BODY: ReadonlySet<string> = new Set(['non_field_errors', '__all__', 'base']);

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };
type Json = Readonly<Record<string, unknown>>;

/**
 * Reads an error body. `body` undefined or not JSON: nothing is said.
 * @param map where this service keeps what it says; what it does not name is looked for in the usual places.
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

/** A code that was named as such may be a number too. */
function reasonText(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' && REASON.test(value) ? value : undefined;
}

/** A text that may be shown: short enough, and written for whoever called. */
function clientText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (text === '' || NOT_FOR_CLIENTS.test(text)) return undefined;
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}

/** Field errors where frameworks keep them. */
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

/** Django REST answers with nothing but the fields: `{"email": ["Enter a valid email address."]}`. */
function djangoFields(object: Json): FieldError[] | undefined {
  const usual = findFieldErrors(object);
  if (usual !== undefined) return usual;
  const entries = Object.entries(object);
  const allFields = entries.length > 0 && entries.every(([, value]) => isFieldTree(value));
  return allFields ? fieldErrors(object, '') : undefined;
}

/** NestJS puts sentences of class-validator into `message`; the first words of each are the property. */
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

/** One of a list: a text, or an object that names its field in one of the usual ways. */
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
    // A list of serializers in a field; a list of its own names fields of the whole.
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

/** One of a map from field to message, messages or further fields. */
function mapEntry(pointer: string, entry: unknown, level: number): FieldError[] {
  const text = clientText(entry);
  if (text !== undefined) return [{ detail: text, ...(pointer === '' ? {} : { pointer: `#${pointer}` }) }];
  return fieldErrors(entry, pointer, level);
}

/** Where an entry says it belongs, as a JSON Pointer in fragment form; a place outside the body as `parameter`. */
function pointerOf(entry: Json): { pointer?: string; parameter?: string } {
  // FastAPI: the place is a character of a text that could not be parsed.
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

/** `items[0].name` and Laravel's `items.0.name` → items, 0, name; .NET begins its paths with `$`. */
function pathParts(path: string): string[] {
  return path
    .replace(/^\$\.(?=.)/, '')
    .replaceAll(/\[(\w+)\]/g, '.$1')
    .split('.');
}

/** RFC 6901 section 3. */
function pointerTo(parts: readonly string[]): string {
  return parts.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
