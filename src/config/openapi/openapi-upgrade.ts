/** OpenAPI 3.0 → 3.1: schemas become JSON Schema 2020-12. The rest of a 3.0 document is valid 3.1 as it is. */
import type { JsonObject } from './openapi-traversal.js';
import { mapObjects } from './openapi-traversal.js';

/** A copy of a 3.0 document, or of a part of one, in 3.1's words. */
export function upgradeToOpenApi31<Value>(value: Value): Value {
  return mapObjects(value, upgradeSchema) as Value;
}

/** One Schema Object of 3.0, not those within it, in 3.1's words. */
export function upgradeSchema(schema: JsonObject): JsonObject {
  return upgradeNullable(upgradeBounds(schema));
}

/** `nullable: true` becomes a type or an alternative (OpenAPI 3.0.3, Schema Object; gone in 3.1). */
function upgradeNullable(object: JsonObject): JsonObject {
  if (typeof object['nullable'] !== 'boolean') return object;
  const { nullable, ...schema } = object;
  if (!nullable) return schema;
  if (typeof schema['type'] === 'string') {
    const values = schema['enum'];
    const nullableEnum =
      Array.isArray(values) && !values.includes(null) ? { enum: [...(values as unknown[]), null] } : {};
    return { ...schema, type: [schema['type'], 'null'], ...nullableEnum };
  }
  const { description, ...alternative } = schema;
  return { ...(description === undefined ? {} : { description }), anyOf: [alternative, { type: 'null' }] };
}

/** `exclusiveMinimum: true` beside `minimum` becomes the bound itself, and likewise for the maximum. */
function upgradeBounds(object: JsonObject): JsonObject {
  const upgraded: Record<string, unknown> = { ...object };
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof object[flag] !== 'boolean') continue;
    delete upgraded[flag];
    if (object[flag] !== true || typeof object[bound] !== 'number') continue;
    upgraded[flag] = object[bound];
    delete upgraded[bound];
  }
  return upgraded;
}
