/** Traverses the objects of OpenAPI documents, except data in examples and defaults. */
import { isExactNumber } from '../../platform/json/exact-json.js';
import type { DocumentPath } from '../model/problem.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Keys with data below them, except in maps of names (a property may be called `default`). */
const DATA_KEYS = new Set(['example', 'default', 'enum', 'const', 'value']);
const NAME_MAPS = new Set(
  (
    'properties patternProperties dependentSchemas $defs definitions paths responses headers ' +
    'content callbacks links examples encoding variables'
  ).split(' '),
);

/** Calls `visit` with every object and its path, parents first. The path changes after the call: copy it to keep it. */
export function visitObjects(
  value: unknown,
  visit: (object: JsonObject, path: DocumentPath) => void,
  path: (string | number)[] = [],
): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) below(path, index, () => visitObjects(item, visit, path));
  } else if (isObject(value)) {
    visit(value, path);
    for (const [key, child] of Object.entries(value)) {
      if (!isData(key, child, path)) below(path, key, () => visitObjects(child, visit, path));
    }
  }
}

function below<Result>(path: (string | number)[], key: string | number, act: () => Result): Result {
  path.push(key);
  const result = act();
  path.pop();
  return result;
}

/** Returns a copy in which `map` has replaced every object, children first. The path changes after the call. */
export function mapObjects(
  value: unknown,
  map: (object: JsonObject, path: DocumentPath) => JsonObject,
  path: (string | number)[] = [],
): unknown {
  if (Array.isArray(value)) {
    return value.map((item, index) => below(path, index, () => mapObjects(item, map, path)));
  }
  if (!isObject(value)) return value;
  const children = Object.entries(value).map(([key, child]) => [
    key,
    isData(key, child, path) ? child : below(path, key, () => mapObjects(child, map, path)),
  ]);
  return map(Object.fromEntries(children) as JsonObject, path);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

function isData(key: string, child: unknown, path: DocumentPath): boolean {
  const isNameMap = NAME_MAPS.has(String(path.at(-1))) || path.at(-2) === 'components';
  // `examples` is a list of data in a schema, but a map of Example Objects in a media type.
  return !isNameMap && (DATA_KEYS.has(key) || (key === 'examples' && Array.isArray(child)));
}
