/** Collects descriptions of scopes from the OpenAPI documents, for people who choose the scopes of an API key. */
import type { DescribedOperation } from '../model/loaded-config.js';
import type { ScopeWords } from '../model/schema.js';
import { resolveReference } from './openapi-references.js';
import { isObject, type JsonObject } from './openapi-traversal.js';

/**
 * Maximum number of characters of a description. A page shows it next to a checkbox, and the program keeps it in
 * memory.
 */
const LONGEST_DESCRIPTION = 500;
const LONGEST_GROUP = 100;
/** Maximum number of operation summaries that replace a missing description. */
const MAX_SUMMARIES = 3;

/** Matches a language tag such as `es` or `pt-BR` (RFC 5646). */
const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?$/;
const MAX_LANGUAGES = 20;

/** Summaries and group of the operations that require a scope. The group is null if they have no tags. */
interface Draft {
  readonly summaries: string[];
  group: string | null;
}

/** A text with translations by language. `plain` is the text for all other languages, or null if there is no text. */
interface LocalizedText {
  readonly plain: string | null;
  readonly translated: ReadonlyMap<string, string>;
}

const NO_TEXT: LocalizedText = { plain: null, translated: new Map() };

/**
 * Returns the description and group of each required scope. The description comes from a security scheme (OAuth
 * `scopes`, or `x-trailgate-scopes`), or else from operation summaries. The group is the first tag of the first
 * operation that has tags. Translations come from `x-trailgate-scopes` and the tag's `x-trailgate-names`.
 */
export function describeScopes(
  documents: ReadonlyMap<string, JsonObject>,
  operations: readonly DescribedOperation[],
): Map<string, ScopeWords> {
  const drafts = new Map<string, Draft>();
  for (const { scopes, openapi } of operations) {
    for (const scope of scopes) {
      const draft = drafts.get(scope) ?? { summaries: [], group: null };
      drafts.set(scope, draft);
      draft.group ??= groupOf(openapi);
      const summary = singleLine(openapi?.['summary'], LONGEST_DESCRIPTION);
      if (summary !== null && draft.summaries.length < MAX_SUMMARIES) draft.summaries.push(summary);
    }
  }
  const scopes = readScopeTexts([...documents.values()]);
  const tags = readTagTexts([...documents.values()]);
  return new Map(
    [...drafts].map(([scope, { summaries, group }]) => {
      const text = scopes.get(scope) ?? NO_TEXT;
      const description = text.plain ?? singleLine(summaries.join('; '), LONGEST_DESCRIPTION);
      const groups = (group === null ? undefined : tags.get(group)) ?? NO_TEXT;
      return [scope, { description, group, translations: translationsOf(text, groups) }];
    }),
  );
}

function translationsOf(description: LocalizedText, group: LocalizedText): ScopeWords['translations'] {
  const languages = new Set([...description.translated.keys(), ...group.translated.keys()]);
  return Object.fromEntries(
    [...languages].map((language) => [
      language,
      {
        description: description.translated.get(language) ?? null,
        group: group.translated.get(language) ?? null,
      },
    ]),
  );
}

/**
 * Returns the descriptions in the security schemes of all documents, by scope. For each language, the first description
 * of a scope takes precedence.
 */
function readScopeTexts(documents: readonly JsonObject[]): Map<string, LocalizedText> {
  const texts = new Map<string, LocalizedText>();
  for (const document of documents) {
    for (const scheme of schemesOf(document)) {
      for (const scopes of [...valuesOf(scheme['flows']).map((flow) => flow['scopes']), scheme['x-trailgate-scopes']]) {
        for (const [scope, words] of Object.entries(isObject(scopes) ? scopes : {})) {
          texts.set(scope, mergeTexts(texts.get(scope) ?? NO_TEXT, readLocalizedText(words, LONGEST_DESCRIPTION)));
        }
      }
    }
  }
  return texts;
}

/** Returns the translated names of tags, by tag name. For each language, the first translation takes precedence. */
function readTagTexts(documents: readonly JsonObject[]): Map<string, LocalizedText> {
  const texts = new Map<string, LocalizedText>();
  for (const { tags } of documents) {
    for (const tag of Array.isArray(tags) ? tags : []) {
      const name = isObject(tag) ? singleLine(tag['name'], LONGEST_GROUP) : null;
      const names = isObject(tag) ? tag['x-trailgate-names'] : undefined;
      if (name === null || !isObject(names)) continue;
      texts.set(name, mergeTexts(texts.get(name) ?? NO_TEXT, readLocalizedText(names, LONGEST_GROUP)));
    }
  }
  return texts;
}

/** Reads a text, or a map of languages to texts. The first text of a map is the text for all other languages. */
function readLocalizedText(value: unknown, longest: number): LocalizedText {
  if (!isObject(value)) return { plain: singleLine(value, longest), translated: new Map() };
  const translated = new Map<string, string>();
  for (const [language, text] of Object.entries(value).slice(0, MAX_LANGUAGES)) {
    const words = LANGUAGE.test(language) ? singleLine(text, longest) : null;
    if (words !== null) translated.set(language, words);
  }
  const [plain = null] = translated.values();
  return { plain, translated };
}

/** Merges two texts. For each language, the first text takes precedence. */
function mergeTexts(first: LocalizedText, second: LocalizedText): LocalizedText {
  return { plain: first.plain ?? second.plain, translated: new Map([...second.translated, ...first.translated]) };
}

function schemesOf(document: JsonObject): JsonObject[] {
  const components = isObject(document['components']) ? document['components'] : {};
  const schemes = isObject(components['securitySchemes']) ? Object.values(components['securitySchemes']) : [];
  return schemes.map((scheme) => resolveReference(document, scheme)).filter(isObject);
}

function valuesOf(value: unknown): JsonObject[] {
  return isObject(value) ? Object.values(value).filter(isObject) : [];
}

function groupOf(openapi: JsonObject | undefined): string | null {
  const tags = openapi?.['tags'];
  return Array.isArray(tags) ? singleLine(tags[0], LONGEST_GROUP) : null;
}

/** Returns a text on a single line, shortened to `longest` characters. Returns null if the text is empty. */
function singleLine(value: unknown, longest: number): string | null {
  if (typeof value !== 'string') return null;
  const text = value.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  if (text === '') return null;
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}
