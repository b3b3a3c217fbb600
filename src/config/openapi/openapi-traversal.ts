/** Traverses the objects of an OpenAPI document. Data in examples and defaults is not traversed. */
import { isExactNumber } from '../../platform/json/exact-json.js';
import type { DocumentPath } from '../model/problem.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Keys whose values are data. In maps of names, such as `properties`, these keys are ordinary names. */
const DATA_KEYS = new Set(['example', 'default', 'enum', 'const', 'value']);
/** Keys of maps whose own keys are names that the author of the document chooses. */
const NAME_MAPS = new Set(
  (
    'properties patternProperties dependentSchemas $defs definitions paths responses headers ' +
    'content callbacks links examples encoding variables'
  ).split(' '),
);

/** Calls `visit` with every object and its path, parents first. `visit` must copy the path to keep it. */
export function visitObjects(
  value: unknown,
  visit: (object: JsonObject, path: DocumentPath) => void,
  path: (string | number)[] = [],
): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) withKey(path, index, () => visitObjects(item, visit, path));
  } else if (isObject(value)) {
    visit(value, path);
    for (const [key, child] of Object.entries(value)) {
      if (!isData(key, child, path)) withKey(path, key, () => visitObjects(child, visit, path));
    }
  }
}

/** Runs a function while `key` is appended to `path`. */
function withKey<Result>(path: (string | number)[], key: string | number, action: () => Result): Result {
  path.push(key);
  const result = action();
  path.pop();
  return result;
}

/** Returns a copy in which `map` has replaced every object, children first. `map` must copy the path to keep it. */
export function mapObjects(
  value: unknown,
  map: (object: JsonObject, path: DocumentPath) => JsonObject,
  path: (string | number)[] = [],
): unknown {
  if (Array.isArray(value)) {
    return value.map((item, index) => withKey(path, index, () => mapObjects(item, map, path)));
  }
  if (!isObject(value)) return value;
  const children = Object.entries(value).map(([key, child]) => [
    key,
    isData(key, child, path) ? child : withKey(path, key, () => mapObjects(child, map, path)),
  ]);
  return map(Object.fromEntries(children) as JsonObject, path);
}

/** Reports whether a value is a JSON object. Lists, null and exact numbers are not objects. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

/** Reports whether the value of a key is data, which must not be traversed. */
function isData(key: string, child: unknown, path: DocumentPath): boolean {
  const isNameMap = NAME_MAPS.has(String(path.at(-1))) || path.at(-2) === 'components';
  // `examples` is a list of data in a schema, but a map of Example Objects in a media type.
  return !isNameMap && (DATA_KEYS.has(key) || (key === 'examples' && Array.isArray(child)));
}
