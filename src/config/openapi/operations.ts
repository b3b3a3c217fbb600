/**
 * Merges the operations of the OpenAPI documents with the `operations` entries of `gateway.yaml`. Conflicts and missing
 * scopes become problems.
 */
import type { OperationDraft } from './openapi-operations.js';
import { defaultScopesOf } from './document-settings.js';
import { templateFault, templateParameters, templateShape } from './path-template.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import { didYouMean } from '../model/problem.js';
import type { MergedOperation } from './key-retention.js';
import type { Emits, OperationEntry } from '../model/schema.js';
import { operationSchema } from '../model/operation-schema.js';
import type { DefaultScopes } from '../model/service-schema.js';
import { isObject } from './openapi-traversal.js';
import type { SourceDocument } from '../source/source-document.js';
import type { ReadApis } from './read-apis.js';

/** Paths that the gateway itself serves, relative to the base path. */
const BUILT_IN_TEMPLATES = new Set(['/usage', '/openapi.json']);
/** Maximum number of suggestions. Each one compares all operations, and many mistakes usually have a common cause. */
const MAX_SUGGESTIONS = 20;

/** The `operations` entries, and the settings that are needed to apply them. The file may have other problems. */
export interface OperationEntries {
  readonly source: SourceDocument;
  /** Unvalidated value of `operations`. */
  readonly value: unknown;
  readonly services: ReadonlySet<string>;
  readonly apis: ReadApis;
  /** Default scopes by service, for operations that name none. */
  readonly defaultScopes: ReadonlyMap<string, DefaultScopes>;
  /** False if a document could not be read. Operations that seem to be missing may then exist. */
  readonly areDocumentsComplete: boolean;
}

/** A draft and the operation that `mergeOperations` has created from it. */
export interface NumberedDraft {
  readonly draft: OperationDraft;
  readonly operation: MergedOperation;
}

/** Result of `mergeOperations`. */
export interface MergedOperations {
  /** All operations. Empty if there are problems. */
  readonly operations: readonly MergedOperation[];
  /** Drafts with their operations, even if there are problems. */
  readonly numbered: readonly NumberedDraft[];
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

/**
 * Applies the `operations` entries to the drafts of the documents, and checks the result. Does not repeat problems of
 * the schema check.
 */
export function mergeOperations(drafts: readonly OperationDraft[], entries: OperationEntries): MergedOperations {
  const problems: ConfigProblem[] = [];
  let suggestionsLeft = MAX_SUGGESTIONS;
  const suggest: Suggest = (word, candidates) => (suggestionsLeft-- > 0 ? didYouMean(word, candidates) : undefined);
  const merged = new Map<OperationDraft | number, OperationDraft>(drafts.map((draft) => [draft, draft]));
  const byMatch = new Map(drafts.map((draft) => [keyOf({ api: draft.api, match: matchOf(draft) }), draft]));
  const seenMatches = new Set<string>();
  for (const [index, value] of (Array.isArray(entries.value) ? entries.value : []).entries()) {
    const entry = readEntry(value);
    if (entry.match === undefined) continue;
    const path = ['operations', index];
    const api = apiOfEntry(entry, entries.apis);
    const match = keyOf({ api, match: entry.match });
    if (seenMatches.has(match)) {
      problems.push(entries.source.problem([...path, 'match'], `${entry.match} has an entry already`, 'join the two'));
      continue;
    }
    seenMatches.add(match);
    const described = byMatch.get(match);
    const fault = entryFault(entry, api, described, entries, byMatch, suggest);
    if (fault !== undefined) problems.push(entries.source.problem([...path, fault.key], fault.message, fault.hint));
    else if (described !== undefined)
      merged.set(described, { ...described, ...entryFields(entry), ...toolEntry(entry, entries.source, path) });
    else if (entry.service !== undefined) merged.set(index, addedDraft(entry, api, entries.source, path));
  }
  const all = [...merged.values()].map((draft) => withApiName(withDefaultScopes(draft, entries.defaultScopes)));
  problems.push(...scopeProblems(all), ...collisionProblems(all), ...idProblems(all));
  const numbered = numberOperations(withUniformParameters(all), entries.apis);
  const operations = problems.length > 0 ? [] : numbered.map(({ operation }) => operation);
  return {
    operations,
    numbered,
    problems,
    warnings: basePathWarnings(all, entries.apis),
  };
}

function withDefaultScopes(draft: OperationDraft, services: ReadonlyMap<string, DefaultScopes>): OperationDraft {
  const scopes = draft.scopes ?? defaultScopesOf(services.get(draft.service), draft.method);
  return scopes === undefined ? draft : { ...draft, scopes };
}

/** Adds the name of the API as a prefix to the ID, because versions of an API usually have equal IDs. */
function withApiName(draft: OperationDraft): OperationDraft {
  return draft.api === undefined || draft.id === undefined ? draft : { ...draft, id: `${draft.api}.${draft.id}` };
}

/** Returns the API that an entry or its service names. Undefined for the first API. */
function apiOfEntry({ api, service }: Partial<OperationEntry>, apis: ReadApis): string | undefined {
  if (api !== undefined) return api === apis.first ? undefined : api;
  return service === undefined ? undefined : apis.ofService(service);
}

function keyOf({ api = '', match }: { readonly api: string | undefined; readonly match: string }): string {
  return `${api} ${match}`;
}

/**
 * Gives equal paths the same parameter names, which are those of the first operation. OpenAPI and the router need a
 * single template per path.
 */
function withUniformParameters(drafts: readonly OperationDraft[]): OperationDraft[] {
  const firstByShape = new Map<string, string>();
  return drafts.map((draft) => {
    const shape = `${draft.api} ${templateShape(draft.template)}`;
    const template = firstByShape.get(shape) ?? draft.template;
    firstByShape.set(shape, template);
    if (template === draft.template) return draft;
    const names = templateParameters(template);
    const renamed = new Map(templateParameters(draft.template).map((name, at) => [name, names[at] ?? name]));
    const parameters = draft.openapi?.['parameters'];
    if (!Array.isArray(parameters)) return { ...draft, template };
    const named = parameters.map((parameter: unknown) =>
      isObject(parameter) && parameter['in'] === 'path'
        ? { ...parameter, name: renamed.get(String(parameter['name'])) ?? parameter['name'] }
        : parameter,
    );
    return { ...draft, template, openapi: { ...draft.openapi, parameters: named } };
  });
}

type Suggest = (word: string, candidates: Iterable<string>) => string | undefined;

interface EntryFault {
  readonly key: 'match' | 'service' | 'api';
  readonly message: string;
  readonly hint: string;
}

/** Returns why an entry cannot be applied, apart from problems of the schema check. Undefined if there is no fault. */
function entryFault(
  entry: Partial<OperationEntry>,
  api: string | undefined,
  described: OperationDraft | undefined,
  entries: OperationEntries,
  byMatch: ReadonlyMap<string, OperationDraft>,
  suggest: Suggest,
): EntryFault | undefined {
  const { match = '', service } = entry;
  if (entry.api !== undefined && !entries.apis.has(entry.api)) {
    const hint = suggest(entry.api, entries.apis.names) ?? 'name one of `apis`';
    return { key: 'api', message: `no API is called \`${entry.api}\``, hint };
  }
  if (service !== undefined && !entries.services.has(service)) {
    const hint = suggest(service, entries.services) ?? 'name one of `services`';
    return { key: 'service', message: `no service is called \`${service}\``, hint };
  }
  if (described !== undefined) {
    if (service === undefined || service === described.service) return undefined;
    const message = `${match} is described by the OpenAPI document of \`${described.service}\``;
    return { key: 'service', message, hint: 'leave `service` out' };
  }
  if (service !== undefined && api !== entries.apis.ofService(service)) {
    return { key: 'api', message: `\`${service}\` belongs to another API`, hint: 'leave `api` out' };
  }
  const fault = templateFault(match.slice(match.indexOf(' ') + 1));
  if (fault !== undefined) return { key: 'match', message: `the path ${fault.message}`, hint: fault.hint };
  if (service !== undefined || !entries.areDocumentsComplete) return undefined;
  const message = `no OpenAPI document describes ${match}, so it needs a \`service\``;
  const withoutBase = match.replace(` ${entries.apis.basePath(api)}/`, ' /');
  if (byMatch.has(keyOf({ api, match: withoutBase })))
    return { key: 'match', message, hint: `leave the base path out: ${withoutBase}` };
  const hint =
    suggest(match, [...byMatch.values()].map(matchOf)) ?? 'add `service`, or describe it in an OpenAPI document';
  return { key: 'match', message, hint };
}

function addedDraft(
  entry: Partial<OperationEntry>,
  api: string | undefined,
  source: SourceDocument,
  path: DocumentPath,
): OperationDraft {
  const [method = '', template = ''] = (entry.match ?? '').split(' ');
  return {
    method,
    template,
    service: entry.service ?? '',
    ...(api === undefined ? {} : { api }),
    ...entryFields(entry),
    ...toolEntry(entry, source, path),
    source,
    path,
  };
}

function toolEntry(
  { mcp }: Partial<OperationEntry>,
  source: SourceDocument,
  path: DocumentPath,
): Pick<OperationDraft, 'toolEntry'> {
  return mcp === undefined ? {} : { toolEntry: { settings: mcp, source, path: [...path, 'mcp'] } };
}

/**
 * Returns the valid fields of an entry. Invalid `scopes` become an empty list, so that they are not also reported as
 * missing.
 */
function readEntry(value: unknown): Partial<OperationEntry> {
  if (typeof value !== 'object' || value === null) return {};
  const entry: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(operationSchema.shape)) {
    const found = (value as Record<string, unknown>)[key];
    if (found === undefined) continue;
    const result = field.safeParse(found);
    if (result.success) entry[key] = result.data;
    else if (key === 'scopes') entry[key] = [];
  }
  return entry as Partial<OperationEntry>;
}

function entryFields(
  entry: Partial<OperationEntry>,
): Pick<OperationDraft, 'id' | 'scopes' | 'cost' | 'isWebSocket' | 'takesSlashes' | 'lifeCycle' | 'emits' | 'keys'> {
  const { idempotency: mode, idempotencyRetention: retentionMs } = entry;
  const { deprecation = null, sunset = null, successor, brownouts = [] } = entry;
  const hasLifeCycle = deprecation !== null || sunset !== null || brownouts.length > 0;
  return {
    ...(hasLifeCycle ? { lifeCycle: { deprecation, sunset, successor, brownouts } } : {}),
    ...(entry.id === undefined ? {} : { id: entry.id }),
    ...(entry.scopes === undefined ? {} : { scopes: entry.scopes }),
    ...(entry.cost === undefined ? {} : { cost: entry.cost }),
    ...(entry.emits === undefined ? {} : { emits: emitsOf(entry.emits, entry.emitsResource) }),
    ...(mode === undefined && retentionMs === undefined ? {} : { keys: { mode, retentionMs } }),
    ...(entry.websocket === undefined ? {} : { isWebSocket: entry.websocket }),
    ...(entry.encodedSlashes === 'pass' ? { takesSlashes: true } : {}),
  };
}

function emitsOf(type: string, pointer: string | undefined): Emits {
  const parts = pointer?.slice(1).split('/');
  return { type, resource: parts?.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')) };
}

/** Reports operations without scopes, because a forgotten setting must not open an operation to every key. */
function scopeProblems(drafts: readonly OperationDraft[]): ConfigProblem[] {
  return drafts
    .filter((draft) => draft.scopes === undefined)
    .map((draft) => {
      const message = `${matchOf(draft)} names no scopes, so any valid key could call it`;
      const hint =
        draft.openapi === undefined
          ? 'add `scopes`; if any key may, say so: `scopes: []`'
          : `name them in its \`security\`, or set \`scopes\` of \`${draft.service}\` in gateway.yaml; if any key may: ` +
            '`scopes: []`';
      return draft.source.problem(draft.path, message, hint, 'key');
    });
}

/**
 * Warns about paths that start with the base path, because their URLs would contain the base path twice. Returns one
 * warning per file.
 */
function basePathWarnings(drafts: readonly OperationDraft[], apis: ReadApis): ConfigProblem[] {
  const inside = drafts.filter(({ api, template }) => template.startsWith(`${apis.basePath(api)}/`));
  return [...new Set(inside.map(({ source }) => source))].flatMap((source) => {
    const [first, ...others] = inside.filter((draft) => draft.source === source);
    if (first === undefined) return [];
    const more = others.length === 0 ? '' : `, and ${others.length} more like it`;
    const message = `${matchOf(first)} is reached at ${apis.basePath(first.api)}${first.template}${more}`;
    return source.problem(first.path, message, 'paths are relative to the base path: leave it out', 'key');
  });
}

/**
 * Reports operations that match the same requests as an earlier operation, or that have a path of the gateway itself.
 */
function collisionProblems(drafts: readonly OperationDraft[]): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const firstByMethod = new Map<string, OperationDraft>();
  for (const draft of drafts) {
    const report = (message: string, hint: string): void => {
      problems.push(draft.source.problem(draft.path, message, hint, 'key'));
    };
    const shape = `${draft.api} ${templateShape(draft.template)}`;
    if (BUILT_IN_TEMPLATES.has(draft.template)) {
      report(`${draft.template} is answered by the gateway itself`, 'give the operation another path');
    }
    const same = firstByMethod.get(`${draft.method} ${shape}`);
    if (same !== undefined) {
      const where =
        same.service === draft.service ? 'is there already' : `is there already, in service \`${same.service}\``;
      report(
        `${matchOf(draft)} matches the same requests as ${matchOf(same)}, which ${where}`,
        'remove one of them, or leave one out by `exclude`',
      );
    }
    firstByMethod.set(`${draft.method} ${shape}`, same ?? draft);
  }
  return problems;
}

/** Reports operations that have the same ID as an earlier operation. */
function idProblems(drafts: readonly OperationDraft[]): ConfigProblem[] {
  const firstById = new Map<string, OperationDraft>();
  return drafts.flatMap((draft) => {
    if (draft.id === undefined) return [];
    const first = firstById.get(draft.id);
    if (first === undefined) {
      firstById.set(draft.id, draft);
      return [];
    }
    const message = `the operation id \`${draft.id}\` belongs to ${matchOf(first)} already`;
    const hint = `give ${matchOf(draft)} another \`id\` under \`operations\` in gateway.yaml`;
    return [draft.source.problem(draft.path, message, hint, 'key')];
  });
}

/** Creates the operations. Each one gets its position as index, and an ID if its draft has none. */
function numberOperations(drafts: readonly OperationDraft[], apis: ReadApis): NumberedDraft[] {
  const taken = new Set(drafts.flatMap((draft) => draft.id ?? []));
  return drafts.map((draft, index) => {
    const id = draft.id ?? deriveId(draft, taken);
    taken.add(id);
    const operation: MergedOperation = {
      index,
      id,
      method: draft.method,
      template: draft.template,
      service: draft.service,
      ...(draft.api === undefined ? {} : { api: draft.api, route: apis.basePath(draft.api) + draft.template }),
      scopes: draft.scopes ?? [],
      cost: draft.cost ?? 1,
      isWebSocket: draft.isWebSocket ?? false,
      ...(draft.takesSlashes === true ? { takesSlashes: true } : {}),
      ...(draft.lifeCycle === undefined ? {} : { lifeCycle: draft.lifeCycle }),
      ...(draft.emits === undefined ? {} : { emits: draft.emits }),
      ...(draft.keys === undefined ? {} : { keys: draft.keys }),
      ...(draft.openapi === undefined ? {} : { openapi: draft.openapi }),
    };
    return { draft, operation };
  });
}

/** Derives an ID such as `get_customers_id` from method and path. Appends a number if another operation has the ID. */
function deriveId(draft: OperationDraft, taken: ReadonlySet<string>): string {
  const words = `${draft.method} ${draft.template}`.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const base = `${draft.api === undefined ? '' : `${draft.api}.`}${words.join('_')}`;
  let id = base;
  for (let number = 2; taken.has(id); number++) id = `${base}_${number}`;
  return id;
}

function matchOf(draft: { readonly method: string; readonly template: string }): string {
  return `${draft.method} ${draft.template}`;
}
