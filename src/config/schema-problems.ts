/** Turns what zod found into problems with a line and words for people. */
import type { z } from 'zod';
import { knownKeysAt } from './json-schema.js';
import type { ConfigProblem, DocumentPath } from './problem.js';
import { didYouMean } from './problem.js';
import type { SourceDocument } from './source-document.js';

type Issue = z.core.$ZodIssue;

const TYPE_NAMES: Readonly<Record<string, string>> = {
  object: 'a map',
  record: 'a map',
  array: 'a list',
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
};

/** Every issue as a problem; of several about one value only the first, which names the cause. */
export function schemaProblems(issues: readonly Issue[], value: unknown, source: SourceDocument): ConfigProblem[] {
  const seen = new Set<string>();
  return issues.flatMap((issue) => {
    const path = issue.path as DocumentPath;
    if (issue.code === 'unrecognized_keys') return unknownKeys(issue.keys, path, source);
    const place = JSON.stringify(path);
    if (seen.has(place)) return [];
    seen.add(place);
    if (issue.code === 'invalid_key') {
      return [
        source.problem(
          path,
          `\`${String(path.at(-1))}\` ${issue.issues[0]?.message ?? 'is not a valid name'}`,
          undefined,
          'key',
        ),
      ];
    }
    const found = valueAt(value, path);
    if (found === undefined) {
      return [source.problem(path.slice(0, -1), `\`${String(path.at(-1))}\` is missing`, undefined, 'key')];
    }
    return [source.problem(path, describe(issue, found), hintFor(issue, found))];
  });
}

/** The value at a path of plain data, undefined where there is none. */
export function valueAt(value: unknown, path: DocumentPath): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined;
    current = (current as Record<string | number, unknown>)[part];
  }
  return current;
}

function unknownKeys(keys: readonly string[], path: DocumentPath, source: SourceDocument): ConfigProblem[] {
  const known = knownKeysAt(path);
  return keys.map((key) => {
    const hint = didYouMean(key, known) ?? `known here: ${known.join(', ')}`;
    return source.problem([...path, key], `unknown key \`${key}\``, hint, 'key');
  });
}

function describe(issue: Issue, found: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      // zod's own words begin so; others were written for this setting
      if (!issue.message.startsWith('Invalid input')) return issue.message;
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, not ${describeValue(found)}`;
    case 'too_small':
      if (issue.origin === 'array') return 'must not be an empty list';
      if (issue.origin === 'string') return 'must not be empty';
      return `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    default:
      return issue.message;
  }
}

function hintFor(issue: Issue, found: unknown): string | undefined {
  if (issue.code === 'invalid_value' && typeof found === 'string') return didYouMean(found, issue.values.map(String));
  return undefined;
}

function describeValue(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  if (typeof value === 'string') return 'a text';
  return String(value);
}
