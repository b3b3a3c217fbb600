/** Converts zod issues to configuration problems with a position, a readable message and advice. */
import type { z } from 'zod';
import { descriptionAt, knownKeysAt } from '../model/json-schema.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import { didYouMean, formatPath } from '../model/problem.js';
import { misleadingCharacter } from './scalar-checks.js';
import type { SourceDocument } from '../source/source-document.js';
import { suggestCorrection } from '../source/suggest-correction.js';

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

/** Maximum number of suggestions ("did you mean"). Each suggestion compares a word with all candidates. */
const MAX_SUGGESTIONS = 50;
const HIDDEN_HINT = 'it comes from an environment variable: see what that holds';

/**
 * Matches values that a message may repeat. Only short plain text matches, and no URL, which could contain a password.
 */
const SHOWN_TEXT = /^(?!.*:\/\/)[\w ./:,+*-]{1,40}$/;

/**
 * Converts issues to problems. If a value has several issues, only the first becomes a problem, because it usually
 * names the cause.
 * @param value the unvalidated document
 * @param hidden formatted paths of values from variables, which messages must not repeat
 */
export function schemaProblems(
  issues: readonly Issue[],
  value: unknown,
  source: SourceDocument,
  hidden: ReadonlySet<string> = new Set(),
): ConfigProblem[] {
  const seen = new Set<string>();
  let suggestionsLeft = MAX_SUGGESTIONS;
  const suggest = (word: string, candidates: readonly string[]): string | undefined =>
    suggestionsLeft-- > 0 ? didYouMean(word, candidates) : undefined;
  return issues.flatMap((issue) => {
    const path = issue.path as DocumentPath;
    if (issue.code === 'unrecognized_keys') return unknownKeys(issue.keys, path, source, suggest);
    const pathKey = JSON.stringify(path);
    if (seen.has(pathKey)) return [];
    seen.add(pathKey);
    if (issue.code === 'invalid_key') return [invalidName(issue, path, source)];
    const found = valueAt(value, path);
    if (found === undefined) return [missing(path, source)];
    const isHidden = hidden.has(formatPath(path));
    const shown = isHidden ? undefined : shownValue(found);
    const hint = isHidden ? HIDDEN_HINT : hintFor(issue, found, path);
    return [source.problem(path, describe(issue, found, shown), hint)];
  });
}

/** Returns the value at a path, or undefined if the path does not exist. */
export function valueAt(value: unknown, path: DocumentPath): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined;
    current = (current as Record<string | number, unknown>)[part];
  }
  return current;
}

type Suggest = (word: string, candidates: readonly string[]) => string | undefined;

function unknownKeys(
  keys: readonly string[],
  path: DocumentPath,
  source: SourceDocument,
  suggest: Suggest,
): ConfigProblem[] {
  const known = knownKeysAt(path);
  return keys.map((key) => {
    const hint = suggest(key, known) ?? `known here: ${known.join(', ')}`;
    const shown = key.length > 60 ? `${key.slice(0, 60)}…` : key;
    const character = misleadingCharacter(key);
    const suffix = character === undefined ? '' : `, which has the invisible character ${character}`;
    return source.problem([...path, key], `unknown key \`${shown}\`${suffix}`, hint, 'key');
  });
}

function invalidName(
  issue: Issue & { code: 'invalid_key' },
  path: DocumentPath,
  source: SourceDocument,
): ConfigProblem {
  const name = String(path.at(-1));
  const message = `\`${name}\` ${issue.issues[0]?.message ?? 'is not a valid name'}`;
  const suggestion = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '');
  const hint = suggestion === '' || suggestion === name ? 'choose another name' : `write \`${suggestion}\``;
  return source.problem(path, message, hint, 'key');
}

function missing(path: DocumentPath, source: SourceDocument): ConfigProblem {
  const description = descriptionAt(path);
  const hint = description === undefined ? 'add it' : `add it: ${description}`;
  return source.problem(path.slice(0, -1), `\`${String(path.at(-1))}\` is missing`, hint, 'key');
}

function describe(issue: Issue, found: unknown, shown: string | undefined): string {
  switch (issue.code) {
    case 'invalid_type':
      if (hasOwnMessage(issue)) return withValue(issue.message, shown);
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, not ${shown ?? kindOf(found)}`;
    case 'invalid_value':
      return withValue(`must be one of ${issue.values.map(String).join(', ')}`, shown);
    default:
      return withValue(issue.message, shown);
  }
}

/**
 * Reports whether the schema defines the message of this issue. Otherwise, the message is the default for a wrong type.
 */
function hasOwnMessage(issue: Issue & { code: 'invalid_type' }): boolean {
  return !/^must be (?:an object|a list|a whole number|a number|a string|true or false), not /.test(issue.message);
}

/** Appends the value to a message that does not contain the value: `must be a path` → `must be a path, not /x y`. */
function withValue(message: string, shown: string | undefined): string {
  return shown === undefined || !message.startsWith('must ') || message.includes(', not ')
    ? message
    : `${message}, not ${shown}`;
}

function hintFor(issue: Issue, found: unknown, path: DocumentPath): string {
  if (issue.code === 'invalid_value' && typeof found === 'string') {
    const meant = didYouMean(found, issue.values.map(String));
    if (meant !== undefined) return meant;
  }
  if (path.length === 0) {
    const isWord = typeof found === 'string' && /^[\w-]+:\S/.test(found);
    return isWord
      ? 'a colon needs a space behind it'
      : 'write `services:` and `plans:`, each at the beginning of a line';
  }
  return suggestCorrection(issue, found) ?? descriptionAt(path) ?? 'docs/configuration.md has every setting';
}

/** Formats a value for a message. Returns undefined if the value is too long or could be a secret. */
function shownValue(value: unknown): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return Number.isNaN(value) ? '.nan' : '.inf';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && SHOWN_TEXT.test(value) ? `\`${value}\`` : undefined;
}

function kindOf(value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : 'a text';
}
