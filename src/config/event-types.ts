/** The types of events that backends may hand in, with the schemas and examples that their files hold. */
import { dirname, resolve } from 'node:path';
import { compileDataSchema } from './data-schema.js';
import type { ConfigProblem, DocumentPath } from './model/problem.js';
import type { EventType } from './model/schema.js';
import { isObject, type JsonObject } from './openapi/openapi-traversal.js';
import { SourceDocument } from './source/source-document.js';
import { DOCUMENT_BOUNDS } from './source/yaml-parse.js';

/** What was found. */
export interface EventTypesReading {
  readonly types: readonly EventType[];
  /** Those that are named, absolute. */
  readonly files: readonly string[];
  readonly problems: readonly ConfigProblem[];
}

/** Reads what `events` names. Never throws; works on a document that may have other faults. */
export async function readEventTypes(source: SourceDocument, events: unknown): Promise<EventTypesReading> {
  if (Array.isArray(events)) {
    const names = events.filter((name) => typeof name === 'string');
    const plain = { schema: null, description: null, example: null };
    return { types: names.map((name) => ({ name, ...plain })), files: [], problems: [] };
  }
  const reader = new Reader(source);
  const types: EventType[] = [];
  for (const [name, type] of Object.entries(isObject(events) ? events : {})) {
    if (isObject(type)) types.push(await reader.read(name, type));
  }
  return { types, files: reader.files, problems: reader.problems };
}

class Reader {
  readonly files: string[] = [];
  readonly problems: ConfigProblem[] = [];

  constructor(private readonly source: SourceDocument) {}

  async read(name: string, { schema, description, example }: JsonObject): Promise<EventType> {
    const place = ['events', name];
    const [found, data] = [
      await this.load([...place, 'schema'], schema),
      await this.load([...place, 'example'], example),
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

  private async load(place: DocumentPath, name: unknown): Promise<SourceDocument | undefined> {
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
