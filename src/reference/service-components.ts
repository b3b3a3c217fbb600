/**
 * The components of a service's OpenAPI document that its published operations need, under names that nobody else has.
 */
import type { JsonObject } from '../config/openapi/openapi-traversal.js';
import { lookUpReference, pointerPath } from '../config/openapi/openapi-references.js';
import { isObject, mapObjects, visitObjects } from '../config/openapi/openapi-traversal.js';

/** Components by type (`schemas`, `parameters`, …) and name. */
export type Components = Record<string, Record<string, unknown>>;

const REFERENCE = /^#\/components\/([^/]+)\/([^/]+)(\/.*)?$/;
/**
 * What stands at a place outside of `components`, by the key above it or the last one of its pointer; else a schema.
 */
const TYPES_OF_MAPS = new Set(['responses', 'parameters', 'examples', 'headers', 'links', 'callbacks']);

/**
 * Adds what `parts` refer to, directly and through others, to `components`. What nothing published refers to stays
 * inside. A name that is taken gets the service's name as a prefix.
 * @returns `parts` with their references turned to the new names.
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
      const place = placeOf(reference);
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
    const place = placeOf(reference);
    const renamed = place === undefined ? undefined : names.get(place.key);
    return renamed === undefined ? reference : renamed + (place?.rest ?? '');
  };
  for (const { type, name, value } of adopted) {
    components[type] = { ...components[type], [name]: renameReferences(value, rename) };
  }
  return renameReferences(parts, rename) as Parts;
}

/**
 * What a reference names: the component, or, outside of `components`, whatever stands
 * there, and the name that it would have.
 */
function placeOf(reference: string): { key: string; type: string; name: string; rest: string } | undefined {
  const [, type, name, rest = ''] = REFERENCE.exec(reference) ?? [];
  if (type !== undefined && name !== undefined) return { key: `#/components/${type}/${name}`, type, name, rest };
  if (/^#[A-Za-z_]/.test(reference)) return { key: reference, type: 'schemas', name: reference.slice(1), rest: '' };
  if (!reference.startsWith('#/')) return undefined;
  const path = pointerPath(reference.slice(1));
  const [above = '', last = ''] = path.slice(-2);
  const words = path.flatMap((part) => part.split(/[^A-Za-z0-9]+/)).filter((word) => word !== '');
  const foreign = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('');
  const kind = last === 'requestBody' ? 'requestBodies' : TYPES_OF_MAPS.has(above) ? above : 'schemas';
  return { key: reference, type: kind, name: foreign, rest: '' };
}

/** The schema with an `$anchor`; undefined where there is none. */
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
  // Anchors go: what named them is renamed, and those of two services could be the same.
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

/** The `mapping` of a Discriminator Object; its values are references too, or bare schema names, which stay. */
function discriminatorMapping(object: JsonObject): JsonObject | undefined {
  const { propertyName, mapping } = object;
  return typeof propertyName === 'string' && isObject(mapping) ? mapping : undefined;
}

function mapValues(object: JsonObject, map: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}

function freeName(name: string, service: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  const prefix = service.replace(/(?:^|-)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  let free = prefix + name;
  while (taken.has(free)) free += '_';
  return free;
}
