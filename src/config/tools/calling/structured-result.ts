/** Reduces a backend response to structured content that matches the output schema of the tool. */
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import { WRAPPED_UNDER } from '../tool.js';
import { isOfOneType } from './value-check.js';

/** Marks a value that does not match its schema. */
const MISMATCH = Symbol('misfit');

/**
 * Returns the response without fields that do not match the schema. Output schemas require no fields, so the result
 * always matches. Values that match are not copied.
 * @param wrapsResult whether the content is an object with the response as `result`
 * @param schema schema that `SchemaConverter` has created for the use `output`
 */
export function structuredResult(body: unknown, wrapsResult: boolean, schema: JsonObject): JsonObject {
  const content = fitted(wrapsResult ? { [WRAPPED_UNDER]: body } : body, schema);
  return isObject(content) ? content : {};
}

/** Returns the value, a copy without mismatching fields, or `MISMATCH`. */
function fitted(value: unknown, schema: unknown): unknown {
  if (!isObject(schema)) return schema === false ? MISMATCH : value;
  const { type, allOf, anyOf } = schema;
  if (type !== undefined && !isOfType(value, type)) return MISMATCH;
  let fit = value;
  for (const each of listOf(allOf)) {
    fit = fitted(fit, each);
    if (fit === MISMATCH) return MISMATCH;
  }
  if (anyOf !== undefined) {
    fit = anyFitted(fit, listOf(anyOf));
    if (fit === MISMATCH) return MISMATCH;
  }
  if (Array.isArray(fit)) return fittedList(fit, schema);
  return isObject(fit) ? fittedObject(fit, schema) : fit;
}

/**
 * Fits the value to the alternatives. Prefers the first alternative that keeps the whole value, and otherwise uses the
 * first that matches. Returns `MISMATCH` if no alternative matches.
 */
function anyFitted(value: unknown, alternatives: readonly unknown[]): unknown {
  let firstMatch: unknown = MISMATCH;
  for (const alternative of alternatives) {
    const fit = fitted(value, alternative);
    if (fit === value) return fit;
    if (firstMatch === MISMATCH) firstMatch = fit;
  }
  return firstMatch;
}

function fittedObject(object: JsonObject, { properties, additionalProperties }: JsonObject): unknown {
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(object)) {
    const value = object[name];
    const isKnown = isObject(properties) && Object.hasOwn(properties, name);
    const fit = fitted(value, isKnown ? properties[name] : additionalProperties);
    if (fit === value) continue;
    copy ??= { ...object };
    if (fit === MISMATCH) delete copy[name];
    else copy[name] = fit;
  }
  return copy ?? object;
}

/** Matches a list as a whole, because a list without one of its entries would be misleading. */
function fittedList(list: readonly unknown[], { prefixItems, items }: JsonObject): unknown {
  const first = listOf(prefixItems);
  let copy: unknown[] | undefined;
  for (const [index, value] of list.entries()) {
    const fit = fitted(value, index < first.length ? first[index] : items);
    if (fit === MISMATCH) return MISMATCH;
    if (fit !== value) (copy ??= [...list])[index] = fit;
  }
  return copy ?? list;
}

function isOfType(value: unknown, type: unknown): boolean {
  return Array.isArray(type) ? type.some((one) => isOfOneType(value, one)) : isOfOneType(value, type);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}
