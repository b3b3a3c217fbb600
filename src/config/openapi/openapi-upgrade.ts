/**
 * Converts schemas of OpenAPI 3.0 to OpenAPI 3.1 (JSON Schema 2020-12). The other parts of a 3.0 document are valid in
 * 3.1.
 */
import type { JsonObject } from './openapi-traversal.js';
import { mapObjects } from './openapi-traversal.js';

/** Returns a copy of an OpenAPI 3.0 document, or of a part of a document, converted to 3.1. */
export function upgradeToOpenApi31<Value>(value: Value): Value {
  return mapObjects(value, upgradeSchema) as Value;
}

/** Converts one Schema Object. Nested schemas stay unchanged. */
export function upgradeSchema(schema: JsonObject): JsonObject {
  return upgradeNullable(upgradeBounds(schema));
}

/** Converts `nullable: true` to the type `null` or to an alternative (OpenAPI 3.0.3, Schema Object; removed in 3.1). */
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

/** Converts boolean `exclusiveMinimum` and `exclusiveMaximum` (3.0) to numbers (3.1). */
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
