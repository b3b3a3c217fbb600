/** Descriptions of scopes from the OpenAPI documents, for people who choose the scopes of a key. */
import type { DescribedOperation } from '../model/loaded-config.js';
import type { ScopeWords } from '../model/schema.js';
import { resolveReference } from './openapi-references.js';
import { isObject, type JsonObject } from './openapi-traversal.js';

/** Limits for texts that are shown next to a checkbox and kept in memory. */
const LONGEST_DESCRIPTION = 500;
const LONGEST_GROUP = 100;
/** Number of operation summaries that replace a missing description. */
const MOST_SUMMARIES = 3;

/** Language tag such as `es` or `pt-BR` (RFC 5646). */
const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?$/;
const MOST_LANGUAGES = 20;

interface Draft {
  readonly summaries: string[];
  group: string | null;
}

/** A text with translations. */
interface LocalizedText {
  readonly plain: string | null;
  readonly translated: ReadonlyMap<string, string>;
}

const NOTHING: LocalizedText = { plain: null, translated: new Map() };

/**
 * Returns the description and group of each required scope. The description comes from a security scheme (OAuth
 * `scopes`, or `x-trailgate-scopes`), else from operation summaries. The group is the first tag of the first operation.
 * Translations come from `x-trailgate-scopes` and the tag's `x-trailgate-names`.
 */
export function scopeWords(
  documents: ReadonlyMap<string, JsonObject>,
  operations: readonly DescribedOperation[],
): Map<string, ScopeWords> {
  const drafts = new Map<string, Draft>();
  for (const { scopes, openapi } of operations) {
    for (const scope of scopes) {
      const draft = drafts.get(scope) ?? { summaries: [], group: null };
      drafts.set(scope, draft);
      draft.group ??= groupOf(openapi);
      const summary = plainWords(openapi?.['summary'], LONGEST_DESCRIPTION);
      if (summary !== null && draft.summaries.length < MOST_SUMMARIES) draft.summaries.push(summary);
    }
  }
  const scopes = readScopeTexts([...documents.values()]);
  const tags = readTagTexts([...documents.values()]);
  return new Map(
    [...drafts].map(([scope, { summaries, group }]) => {
      const said = scopes.get(scope) ?? NOTHING;
      const description = said.plain ?? plainWords(summaries.join('; '), LONGEST_DESCRIPTION);
      const groups = (group === null ? undefined : tags.get(group)) ?? NOTHING;
      return [scope, { description, group, translations: translationsOf(said, groups) }];
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

/** Returns descriptions from security schemes. The first one of a scope wins, per language. */
function readScopeTexts(documents: readonly JsonObject[]): Map<string, LocalizedText> {
  const said = new Map<string, LocalizedText>();
  for (const document of documents) {
    for (const scheme of schemesOf(document)) {
      for (const scopes of [...valuesOf(scheme['flows']).map((flow) => flow['scopes']), scheme['x-trailgate-scopes']]) {
        for (const [scope, words] of Object.entries(isObject(scopes) ? scopes : {})) {
          said.set(scope, joined(said.get(scope) ?? NOTHING, readLocalizedText(words, LONGEST_DESCRIPTION)));
        }
      }
    }
  }
  return said;
}

/** Returns translations of tag names. */
function readTagTexts(documents: readonly JsonObject[]): Map<string, LocalizedText> {
  const said = new Map<string, LocalizedText>();
  for (const { tags } of documents) {
    for (const tag of Array.isArray(tags) ? tags : []) {
      const name = isObject(tag) ? plainWords(tag['name'], LONGEST_GROUP) : null;
      const names = isObject(tag) ? tag['x-trailgate-names'] : undefined;
      if (name === null || !isObject(names)) continue;
      said.set(name, joined(said.get(name) ?? NOTHING, readLocalizedText(names, LONGEST_GROUP)));
    }
  }
  return said;
}

/** Reads a text, or a map of languages to texts. The first is the fallback for other languages. */
function readLocalizedText(value: unknown, longest: number): LocalizedText {
  if (!isObject(value)) return { plain: plainWords(value, longest), translated: new Map() };
  const translated = new Map<string, string>();
  for (const [language, text] of Object.entries(value).slice(0, MOST_LANGUAGES)) {
    const words = LANGUAGE.test(language) ? plainWords(text, longest) : null;
    if (words !== null) translated.set(language, words);
  }
  const [plain = null] = translated.values();
  return { plain, translated };
}

function joined(first: LocalizedText, second: LocalizedText): LocalizedText {
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
  return Array.isArray(tags) ? plainWords(tags[0], LONGEST_GROUP) : null;
}

/** Normalizes a text to one line and limits its length. Returns null if it is empty. */
function plainWords(value: unknown, longest: number): string | null {
  if (typeof value !== 'string') return null;
  const text = value.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  if (text === '') return null;
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}
