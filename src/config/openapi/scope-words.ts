/** What scopes mean in plain words, out of the OpenAPI documents: for whoever chooses those of a key. */
import type { DescribedOperation } from '../model/loaded-config.js';
import type { ScopeWords } from '../model/schema.js';
import { resolveReference } from './openapi-references.js';
import { isObject, type JsonObject } from './openapi-traversal.js';

/** Words are shown beside a box to tick, and kept for as long as the configuration runs. */
const LONGEST_DESCRIPTION = 500;
const LONGEST_GROUP = 100;
/** Of a scope without a description, so many of what it opens are named. */
const MOST_SUMMARIES = 3;

interface Draft {
  readonly summaries: string[];
  group: string | null;
}

/**
 * Words for each scope that an operation asks for. A description is what a security scheme says of the scope (OAuth's
 * `scopes`, or `x-trailgate-scopes` where the scheme has none), else the summaries of what it opens; the group is the
 * first tag of the first of them.
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
  const said = saidOfScopes([...documents.values()]);
  return new Map(
    [...drafts].map(([scope, { summaries, group }]) => {
      const inSummary = plainWords(summaries.join('; '), LONGEST_DESCRIPTION);
      return [scope, { description: said.get(scope) ?? inSummary, group }];
    }),
  );
}

/** What the documents' security schemes say; of two that speak of one scope the first. */
function saidOfScopes(documents: readonly JsonObject[]): Map<string, string> {
  const said = new Map<string, string>();
  for (const document of documents) {
    for (const scheme of schemesOf(document)) {
      for (const scopes of [...valuesOf(scheme['flows']).map((flow) => flow['scopes']), scheme['x-trailgate-scopes']]) {
        for (const [scope, description] of Object.entries(isObject(scopes) ? scopes : {})) {
          const words = plainWords(description, LONGEST_DESCRIPTION);
          if (words !== null && !said.has(scope)) said.set(scope, words);
        }
      }
    }
  }
  return said;
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

/** Text of one line; null where there is none. */
function plainWords(value: unknown, longest: number): string | null {
  if (typeof value !== 'string') return null;
  const text = value.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  if (text === '') return null;
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}
