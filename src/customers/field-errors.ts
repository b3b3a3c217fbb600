/** Converts zod issues to one message per field, for error responses of the customer API. */
import type { z } from 'zod';
import type { FieldError } from './errors.js';

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
};

/** Returns the message for an issue that zod itself detects. Undefined selects the message of the schema. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return 'is required';
    const nullHint = issue.input === null ? ', it cannot be null' : '';
    return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}${nullHint}`;
  }
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`;
  return undefined;
}

/**
 * Returns one error per invalid field, in the order of the issues. If a field has several issues, only the first
 * counts.
 * @param known names of all fields, to suggest one for a name that differs only in case, `_` or `-`
 * @param readOnly names of fields that callers cannot send
 */
export function toFieldErrors(
  error: z.ZodError,
  known: readonly string[],
  readOnly: readonly string[] = [],
): FieldError[] {
  const messages = new Map<string, string>();
  for (const issue of error.issues) {
    const path = issue.path.map(String);
    const found: [string, string][] =
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => [
            [...path, key].join('.'),
            describeUnknown(key, path.length === 0 ? known : [], readOnly),
          ])
        : [[path.join('.'), issue.message]];
    for (const [field, message] of found) if (!messages.has(field)) messages.set(field, message);
  }
  return [...messages].map(([field, message]) => ({ field, message }));
}

function describeUnknown(key: string, known: readonly string[], readOnly: readonly string[]): string {
  if (known.length > 0 && readOnly.includes(key)) return 'cannot be set, leave it out';
  const normalized = (name: string): string => name.replaceAll(/[_-]/g, '').toLowerCase();
  const similar = known.find((name) => normalized(name) === normalized(key));
  return similar === undefined ? 'is not known here, leave it out' : `is not known here, did you mean ${similar}?`;
}
