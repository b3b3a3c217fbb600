/** Reads the webhooks of an OpenAPI 3.1 document, each of which describes an event type. */
import { EVENT_TYPE_PATTERN } from '../model/event-schema.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import type { SourceDocument } from '../source/source-document.js';
import type { OpenApiDocument } from './openapi-document.js';
import { lookUpReference, resolveReference } from './openapi-references.js';
import { isObject, mapObjects, type JsonObject } from './openapi-traversal.js';

/** An event type as the webhook of a document describes it. */
export interface WebhookDraft {
  /** Name of the event type, such as `customer.created`. */
  readonly name: string;
  readonly service: string;
  readonly description: string | null;
  /** Self-contained JSON Schema (2020-12) of the event data, not validated. Null if there is no schema. */
  readonly schema: JsonObject | null;
  /** Example of the event data. Null if there is no example. */
  readonly example: unknown;
  readonly source: SourceDocument;
  readonly path: DocumentPath;
}

/** Returns the webhooks whose name is a valid event type, and warnings about the other webhooks. */
export function readWebhooks(
  service: string,
  { value, source }: OpenApiDocument,
): { readonly drafts: readonly WebhookDraft[]; readonly warnings: readonly ConfigProblem[] } {
  const drafts: WebhookDraft[] = [];
  const warnings: ConfigProblem[] = [];
  for (const [name, reference] of Object.entries(isObject(value['webhooks']) ? value['webhooks'] : {})) {
    const path = ['webhooks', name];
    if (!EVENT_TYPE_PATTERN.test(name)) {
      const hint = 'call it resource.verb, for example customer.created';
      warnings.push(source.problem(path, `the webhook \`${name}\` is no type of event, and is not read`, hint, 'key'));
      continue;
    }
    const item = resolveReference(value, reference);
    const operation = isObject(item) && isObject(item['post']) ? item['post'] : {};
    const media = mediaOf(value, operation);
    const body = resolveReference(value, media['schema']);
    const example = exampleOf(value, media);
    // A body with an object property `data` is the whole event, and `data` describes the event data.
    const isEnvelope = isObject(body) && isObject(body['properties']) && isObject(body['properties']['data']);
    const schema = isEnvelope ? (body['properties'] as JsonObject)['data'] : media['schema'];
    drafts.push({
      name,
      service,
      description: textOf(operation['description']) ?? textOf(operation['summary']),
      schema: isObject(schema) ? wholeSchema(value, schema) : null,
      example: (isEnvelope && isObject(example) ? example['data'] : example) ?? null,
      source,
      path,
    });
  }
  return { drafts, warnings };
}

/** Returns the JSON media type of the request body, or an empty object if the body has no JSON. */
function mediaOf(document: JsonObject, operation: JsonObject): JsonObject {
  const body = resolveReference(document, operation['requestBody']);
  const content = isObject(body) && isObject(body['content']) ? body['content'] : {};
  const media = resolveReference(document, content['application/json']);
  return isObject(media) ? media : {};
}

function exampleOf(document: JsonObject, media: JsonObject): unknown {
  if (media['example'] !== undefined) return media['example'];
  const [first] = Object.values(isObject(media['examples']) ? media['examples'] : {});
  const example = resolveReference(document, first);
  return isObject(example) ? example['value'] : undefined;
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value.trim() : null);

/** Keywords of schemas whose values are maps from names that the author chooses. */
const NAME_MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs']);

/**
 * Returns a self-contained schema. Copies referenced schemas to `$defs`, and removes `discriminator` and extensions.
 */
export function wholeSchema(document: JsonObject, schema: JsonObject): JsonObject {
  const names = new Map<string, string>();
  const nameOf = (reference: string): string => {
    const known = names.get(reference);
    if (known !== undefined) return known;
    const baseName = reference.slice(reference.lastIndexOf('/') + 1).replaceAll(/[^\w-]/g, '_');
    const taken = new Set(names.values());
    let name = baseName;
    for (let number = 2; taken.has(name); number++) name = `${baseName}_${number}`;
    names.set(reference, name);
    return name;
  };
  const converted = (value: unknown): unknown =>
    mapObjects(value, (object, path) => {
      if (NAME_MAPS.has(String(path.at(-1)))) return object;
      const kept = Object.entries(object).filter(([key]) => !key.startsWith('x-') && key !== 'discriminator');
      const { $ref: reference } = object;
      const isLocal = typeof reference === 'string' && reference.startsWith('#/');
      return {
        ...Object.fromEntries(kept),
        ...(isLocal ? { $ref: `#/$defs/${nameOf(reference)}` } : {}),
      } as JsonObject;
    });
  const root = converted(schema) as JsonObject;
  const $defs: Record<string, unknown> = {};
  // Converting a definition can add names. The iteration of a Map includes entries that are added during the loop.
  for (const [reference, name] of names) $defs[name] = converted(lookUpReference(document, reference));
  return names.size === 0 ? root : { ...root, $defs };
}
