/** The components of a service's OpenAPI document that its published operations need, under names that nobody else has. */
import type { JsonObject } from '../config/openapi-traversal.js';
import { isObject, mapObjects, visitObjects } from '../config/openapi-traversal.js';

/** Components by type (`schemas`, `parameters`, …) and name. */
export type Components = Record<string, Record<string, unknown>>;

const REFERENCE = /^#\/components\/([^/]+)\/([^/]+)(\/.*)?$/;

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
  const source = isObject(document['components']) ? document['components'] : {};
  const names = new Map<string, string>();
  const adopted: { type: string; name: string; value: unknown }[] = [];
  const collect = (value: unknown): void => {
    for (const reference of referencesIn(value)) {
      const [, type = '', name = ''] = REFERENCE.exec(reference) ?? [];
      const group = source[type];
      const key = `${type}/${name}`;
      if (names.has(key) || !isObject(group) || !Object.hasOwn(group, name)) continue;
      names.set(key, freeName(name, service, components[type] ?? {}));
      adopted.push({ type, name: names.get(key) ?? name, value: group[name] });
      collect(group[name]);
    }
  };
  collect(parts);
  const rename = (reference: string): string => {
    const [, type = '', name = '', rest = ''] = REFERENCE.exec(reference) ?? [];
    const renamed = names.get(`${type}/${name}`);
    return renamed === undefined ? reference : `#/components/${type}/${renamed}${rest}`;
  };
  for (const { type, name, value } of adopted) {
    components[type] = { ...components[type], [name]: renameReferences(value, rename) };
  }
  return renameReferences(parts, rename) as Parts;
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
  return mapObjects(value, (object) => {
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

function freeName(name: string, service: string, taken: Readonly<Record<string, unknown>>): string {
  if (!Object.hasOwn(taken, name)) return name;
  const prefix = service.replace(/(?:^|-)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  let free = prefix + name;
  while (Object.hasOwn(taken, free)) free += '_';
  return free;
}
