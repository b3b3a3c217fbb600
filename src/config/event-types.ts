/**
 * Reads the event types that backends can send, with their schemas and examples from files and OpenAPI documents.
 * Faults become problems.
 */
import { isDeepStrictEqual } from 'node:util';
import { dirname, resolve } from 'node:path';
import { compileDataSchema } from './data-schema.js';
import type { ConfigProblem, DocumentPath } from './model/problem.js';
import type { EventType } from './model/schema.js';
import { isObject, type JsonObject } from './openapi/openapi-traversal.js';
import type { WebhookDraft } from './openapi/openapi-webhooks.js';
import { SourceDocument } from './source/source-document.js';
import { DOCUMENT_BOUNDS } from './source/yaml-parse.js';

/** Result of `readEventTypes`. */
export interface EventTypesReading {
  readonly types: readonly EventType[];
  /** Absolute paths of the schema and example files. */
  readonly files: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

/**
 * Reads the types in `events` and the webhooks of OpenAPI documents. If both define a type, each field of `events`
 * takes precedence. Never throws.
 * @param events unvalidated `events` of `gateway.yaml`. The schema check reports its other problems.
 */
export async function readEventTypes(
  source: SourceDocument,
  events: unknown,
  webhooks: readonly WebhookDraft[],
): Promise<EventTypesReading> {
  const reader = new Reader(source);
  const named = new Map<string, EventType>();
  for (const [name, type] of namedTypes(events)) named.set(name, await reader.readEntry(name, type));
  const types = new Map(named);
  for (const draft of webhooks) {
    // Several versions of a service usually describe the same events. Use the first description.
    if (reader.isRepeated(draft)) continue;
    types.set(draft.name, await reader.mergeWebhook(draft, named.get(draft.name)));
  }
  return { types: [...types.values()], files: reader.files, problems: reader.problems };
}

/**
 * Returns the entries of `events`, which is a list of names or a map. Skips invalid entries, because the schema check
 * reports those entries.
 */
function namedTypes(events: unknown): readonly (readonly [string, JsonObject])[] {
  if (Array.isArray(events)) return events.filter((name) => typeof name === 'string').map((name) => [name, {}]);
  return Object.entries(isObject(events) ? events : {}).filter((entry): entry is [string, JsonObject] =>
    isObject(entry[1]),
  );
}

const ANNOTATIONS: ReadonlySet<string> = new Set(['title', 'description', 'example', 'examples', '$comment']);

/** Returns a copy of a schema for comparison, without annotations for people and with sorted `required` lists. */
function withoutAnnotations(schema: unknown, isMap = false): unknown {
  if (Array.isArray(schema)) return schema.map((item) => withoutAnnotations(item));
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).filter(([key]) => isMap || !ANNOTATIONS.has(key));
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (!isMap && key === 'required' && Array.isArray(value)) return [key, value.map(String).toSorted()];
      return [key, withoutAnnotations(value, !isMap && (key === 'properties' || key === '$defs'))];
    }),
  );
}

class Reader {
  readonly files: string[] = [];
  readonly problems: ConfigProblem[] = [];
  /** Webhooks of the documents read so far, by name. */
  private readonly webhooksByName = new Map<string, WebhookDraft>();

  constructor(private readonly source: SourceDocument) {}

  /** Reads an entry of `events` and the files that it names. Also checks the example against the schema. */
  async readEntry(name: string, { schema, description, example }: JsonObject): Promise<EventType> {
    const place = ['events', name];
    const [found, data] = [
      await this.readSource([...place, 'schema'], schema),
      await this.readSource([...place, 'example'], example),
    ];
    const compiled = found === undefined ? null : await this.compile([...place, 'schema'], found);
    const fault = compiled === null || data === undefined ? undefined : compiled(data.toJS());
    if (fault !== undefined) {
      const where = fault.pointer === '' ? 'the example' : `the example, at ${fault.pointer},`;
      this.report([...place, 'example'], `${where} ${fault.detail}`, 'mend the example, or the schema');
    }
    return {
      name,
      schema: compiled === null ? null : (found?.toJS() as JsonObject),
      description: typeof description === 'string' ? description : null,
      example: data?.toJS() ?? null,
    };
  }

  /** Reports whether an earlier document has the same webhook. The schemas may differ in annotations. */
  isRepeated({ name, schema }: WebhookDraft): boolean {
    const other = this.webhooksByName.get(name);
    return other !== undefined && isDeepStrictEqual(withoutAnnotations(other.schema), withoutAnnotations(schema));
  }

  /**
   * Merges a webhook of a document with the `events` entry of the same name. The fields of the entry take precedence.
   */
  async mergeWebhook(draft: WebhookDraft, named: EventType | undefined): Promise<EventType> {
    const { name, source, path } = draft;
    const other = this.webhooksByName.get(name);
    if (other !== undefined && named?.schema == null) {
      const hint = `name it under \`events\` with a schema: that one counts`;
      const message = `\`${name}\` is a webhook of \`${other.service}\` already, with another schema`;
      this.problems.push(source.problem(path, message, hint, 'key'));
    }
    this.webhooksByName.set(name, draft);
    const known = named ?? { name, schema: null, description: null, example: null };
    const schema = known.schema ?? (await this.validatedSchema(draft));
    return {
      name,
      schema,
      description: known.description ?? draft.description,
      // Omit the document's example if `events` defines another schema.
      example: known.example ?? (known.schema === null ? draft.example : null),
    };
  }

  /** Returns the webhook's schema. Null if there is no schema, or if the schema or its example is invalid. */
  private async validatedSchema({ name, schema, example, source, path }: WebhookDraft): Promise<JsonObject | null> {
    if (schema === null) return null;
    const hint = `mend it, or name \`${name}\` under \`events\` with a schema of its own`;
    try {
      const check = await compileDataSchema(schema);
      const fault = example === null ? undefined : check(example);
      if (fault === undefined) return schema;
      const where = fault.pointer === '' ? 'the example' : `the example, at ${fault.pointer},`;
      this.problems.push(source.problem(path, `${where} ${fault.detail}`, hint, 'key'));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.problems.push(source.problem(path, `the schema of its data cannot be used: ${reason}`, hint, 'key'));
    }
    return null;
  }

  /**
   * Reads the file that a setting names. Returns undefined if the setting is absent, or if the file cannot be used.
   * Reports problems of the file.
   */
  private async readSource(place: DocumentPath, name: unknown): Promise<SourceDocument | undefined> {
    if (typeof name !== 'string' || name === '') return undefined;
    const file = resolve(dirname(this.source.file), name);
    this.files.push(file);
    const { source, problems, unreadable } = await SourceDocument.read(file, DOCUMENT_BOUNDS);
    this.problems.push(...problems);
    if (unreadable !== undefined) this.report(place, `${name} cannot be read: ${unreadable.message}`, unreadable.hint);
    return problems.length > 0 ? undefined : source;
  }

  private async compile(
    place: DocumentPath,
    found: SourceDocument,
  ): Promise<Awaited<ReturnType<typeof compileDataSchema>> | null> {
    const schema = found.toJS();
    try {
      if (!isObject(schema)) throw new Error('a map is expected');
      return await compileDataSchema(schema);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.report(place, `the schema cannot be used: ${reason}`, 'JSON Schema 2020-12, in one file');
      return null;
    }
  }

  private report(place: DocumentPath, message: string, hint: string): void {
    this.problems.push(this.source.problem(place, message, hint));
  }
}
