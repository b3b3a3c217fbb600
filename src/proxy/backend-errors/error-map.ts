/** Reads error bodies through the JSON Pointers (RFC 6901) that a service configures under `errors`. */
import type { ErrorMap } from '../../config/model/schema.js';

/** Values that an error map found. A member is undefined if its pointer is not configured or matches nothing. */
export interface Mapped {
  readonly message: unknown;
  readonly code: unknown;
  /**
   * Field errors in a structure that `error-body.ts` can read. The configured pointers set `path`, `detail` and `code`
   * of each list entry. Any other value stays unchanged.
   */
  readonly fields: unknown;
}

/** Applies a service's error map to a parsed error body. */
export function mappedError(body: unknown, map: ErrorMap): Mapped {
  const fields = map.fields === undefined ? undefined : valueAtPointer(body, map.fields);
  return {
    message: map.message === undefined ? undefined : valueAtPointer(body, map.message),
    code: map.code === undefined ? undefined : valueAtPointer(body, map.code),
    fields: Array.isArray(fields) ? fields.map((entry: unknown) => mappedEntry(entry, map)) : fields,
  };
}

/**
 * Applies the pointers for field errors to one entry. Returns the entry unchanged if the map has no such pointers, or
 * if the entry is not an object.
 */
function mappedEntry(entry: unknown, { fieldName, fieldMessage, fieldCode }: ErrorMap): unknown {
  if (entry === null || typeof entry !== 'object' || (fieldName ?? fieldMessage ?? fieldCode) === undefined)
    return entry;
  const code = fieldCode === undefined ? undefined : valueAtPointer(entry, fieldCode);
  return {
    ...(fieldName === undefined ? entry : { path: valueAtPointer(entry, fieldName) }),
    ...(fieldMessage === undefined ? {} : { detail: valueAtPointer(entry, fieldMessage) }),
    ...(code === undefined ? {} : { code }),
  };
}

/**
 * Resolves a JSON Pointer (RFC 6901 section 4). Returns undefined if the pointer matches nothing. Never follows
 * inherited properties.
 */
export function valueAtPointer(document: unknown, pointer: string): unknown {
  let value = document;
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined;
    if (Array.isArray(value) && name === 'length') return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}
