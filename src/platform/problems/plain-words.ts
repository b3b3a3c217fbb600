/**
 * Replaces zod's messages by texts in plain words, with the value and the limit. `trailgate check` and the admin API
 * use these texts. Importing this file changes zod's global configuration.
 */
import { z } from 'zod';

type RawIssue = z.core.$ZodRawIssue;

const TYPES: Readonly<Record<string, string>> = {
  object: 'an object',
  record: 'an object',
  array: 'a list',
  int: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  date: 'a date',
  null: 'null',
};

/** The configuration applies to all schemas that have no message of their own. */
z.config({ localeError: plainWords });

/** Returns the message of an issue. The caller puts the name of the value before it. */
export function plainWords(issue: RawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeWords(issue.expected, issue.input);
    case 'too_small':
      return boundWords('at least', issue.minimum, issue.origin, issue.input, issue.inclusive === true);
    case 'too_big':
      return boundWords('at most', issue.maximum, issue.origin, issue.input, issue.inclusive === true);
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `has unknown names: ${issue.keys.join(', ')}`;
    case 'invalid_format':
      return `must be a valid ${issue.format}`;
    default:
      return 'is not valid';
  }
}

/** Describes a value for a message. Numbers and booleans are shown, other values only by their type. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? 'a string' : String(value);
}

function typeWords(expected: string, input: unknown): string {
  if (input === undefined) return 'is missing';
  return `must be ${TYPES[expected] ?? expected}, not ${kindOf(input)}`;
}

function boundWords(
  comparison: 'at least' | 'at most',
  bound: number | bigint,
  origin: string,
  input: unknown,
  isInclusive: boolean,
): string {
  if (typeof input === 'string' && origin === 'string') {
    if (comparison === 'at least' && Number(bound) === 1) return 'must not be empty';
    return `must have ${comparison} ${bound} characters, not ${input.length}`;
  }
  if (Array.isArray(input)) {
    if (comparison === 'at least' && Number(bound) === 1) return 'must not be an empty list';
    return `must have ${comparison} ${bound} entries, not ${input.length}`;
  }
  const words = isInclusive ? comparison : comparison === 'at least' ? 'more than' : 'less than';
  return `must be ${words} ${bound}, not ${String(input)}`;
}
