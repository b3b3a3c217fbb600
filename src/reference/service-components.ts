/** Copies components of a service's OpenAPI document into the public document, under unique names. */
import type { JsonObject } from '../config/openapi/openapi-traversal.js';
import { lookUpReference, pointerPath } from '../config/openapi/openapi-references.js';
import { isObject, mapObjects, visitObjects } from '../config/openapi/openapi-traversal.js';

/** Components holds components by type (`schemas`, `parameters`, …) and name. */
export type Components = Record<string, Record<string, unknown>>;

/** Matches a reference to a component, or into a component. */
const REFERENCE = /^#\/components\/([^/]+)\/([^/]+)(\/.*)?$/;
/** Keys of maps whose values have the component type of the same name, also outside of `components`. */
const TYPES_OF_MAPS = new Set(['responses', 'parameters', 'examples', 'headers', 'links', 'callbacks']);

/**
 * Adds to `components` all components of a document that `parts` refer to, directly or indirectly. Other components of
 * the document stay private. A component whose name is already used gets the name of the service as a prefix.
 * @returns `parts` with references to the new names
 */
export function adoptComponents<Parts>(
  parts: Parts,
  document: JsonObject,
  service: string,
  components: Components,
): Parts {
  const names = new Map<string, string>();
  const taken = new Map<string, Set<string>>();
  const adopted: { type: string; name: string; value: unknown }[] = [];
  const collect = (value: unknown): void => {
    for (const reference of referencesIn(value)) {
      const place = parseReference(reference);
      if (place === undefined || names.has(place.key)) continue;
      const target = place.key.startsWith('#/') ? lookUpReference(document, place.key) : anchored(document, place.key);
      if (target === undefined) continue;
      const others = taken.get(place.type) ?? new Set(Object.keys(components[place.type] ?? {}));
      const name = freeName(place.name, service, others);
      taken.set(place.type, others.add(name));
      names.set(place.key, `#/components/${place.type}/${name}`);
      adopted.push({ type: place.type, name, value: target });
      collect(target);
    }
  };
  collect(parts);
  const rename = (reference: string): string => {
    const place = parseReference(reference);
    const renamed = place === undefined ? undefined : names.get(place.key);
    return renamed === undefined ? reference : renamed + (place?.rest ?? '');
  };
  for (const { type, name, value } of adopted) {
    (components[type] ??= {})[name] = renameReferences(value, rename);
  }
  return renameReferences(parts, rename) as Parts;
}

/**
 * Parses a reference to a component, or to another object of the document. Other objects become components named after
 * their path or anchor. Their type is `schemas` unless the path shows another type. Undefined for external references.
 */
function parseReference(reference: string): { key: string; type: string; name: string; rest: string } | undefined {
  const [, type, name, rest = ''] = REFERENCE.exec(reference) ?? [];
  if (type !== undefined && name !== undefined) return { key: `#/components/${type}/${name}`, type, name, rest };
  if (/^#[A-Za-z_]/.test(reference)) return { key: reference, type: 'schemas', name: reference.slice(1), rest: '' };
  if (!reference.startsWith('#/')) return undefined;
  const path = pointerPath(reference.slice(1));
  const [above = '', last = ''] = path.slice(-2);
  const words = path.flatMap((part) => part.split(/[^A-Za-z0-9]+/)).filter((word) => word !== '');
  const pathName = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('');
  const kind = last === 'requestBody' ? 'requestBodies' : TYPES_OF_MAPS.has(above) ? above : 'schemas';
  return { key: reference, type: kind, name: pathName, rest: '' };
}

/** Returns the schema whose `$anchor` a reference names. Undefined if the document has no such schema. */
function anchored(document: JsonObject, reference: string): unknown {
  let found: JsonObject | undefined;
  visitObjects(document, (object) => {
    if (object['$anchor'] === reference.slice(1)) found ??= object;
  });
  return found;
}

function referencesIn(value: unknown): string[] {
  const references: string[] = [];
  visitObjects(value, (object) => {
    if (typeof object['$ref'] === 'string') references.push(object['$ref']);
    references.push(
      ...Object.values(discriminatorMapping(object) ?? {}).filter((target) => typeof target === 'string'),
    );
  });
  return references;
}

function renameReferences(value: unknown, rename: (reference: string) => string): unknown {
  // Remove anchors. References to anchors were renamed, and the anchors of two services could collide.
  return mapObjects(value, ({ $anchor: _anchor, ...object }) => {
    const mapping = discriminatorMapping(object);
    const discriminator =
      mapping === undefined ? {} : { mapping: mapValues(mapping, (target) => rename(String(target))) };
    return {
      ...object,
      ...discriminator,
      ...(typeof object['$ref'] === 'string' ? { $ref: rename(object['$ref']) } : {}),
    };
  });
}

/**
 * Returns the `mapping` of a Discriminator Object. Undefined for other objects. The values of a mapping are references
 * or schema names.
 */
function discriminatorMapping(object: JsonObject): JsonObject | undefined {
  const { propertyName, mapping } = object;
  return typeof propertyName === 'string' && isObject(mapping) ? mapping : undefined;
}

function mapValues(object: JsonObject, map: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}

/**
 * Returns the name if no component has this name. Otherwise, adds the service as a prefix, and underscores until the
 * name is unique.
 */
function freeName(name: string, service: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  const prefix = service.replace(/(?:^|-)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  let free = prefix + name;
  while (taken.has(free)) free += '_';
  return free;
}
