/** Where a service says that its errors keep what they say: JSON Pointers (RFC 6901) of its configuration, followed. */
import type { ErrorMap } from '../../config/model/schema.js';

/** What stands at the places that were named; a member is undefined where its place is not named or empty. */
export interface Mapped {
  readonly message: unknown;
  readonly code: unknown;
  /** In the shape that `error-body.ts` knows: objects with `path`, `message`, `code`, or whatever stood there. */
  readonly fields: unknown;
}

/** Follows a service's map into an error body. */
export function mappedError(body: unknown, map: ErrorMap): Mapped {
  const fields = map.fields === undefined ? undefined : valueAtPointer(body, map.fields);
  return {
    message: map.message === undefined ? undefined : valueAtPointer(body, map.message),
    code: map.code === undefined ? undefined : valueAtPointer(body, map.code),
    fields: Array.isArray(fields) ? fields.map((entry: unknown) => mappedEntry(entry, map)) : fields,
  };
}

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

/** RFC 6901 section 4; undefined where nothing stands there. Follows own members only. */
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
