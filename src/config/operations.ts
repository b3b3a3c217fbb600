/** One list of operations from the OpenAPI documents and `operations`: overrides applied, and no two in each other's way. */
import type { OperationDraft } from './openapi-operations.js';
import { templateProblem, templateShape } from './path-template.js';
import type { ConfigProblem, DocumentPath } from './problem.js';
import { didYouMean } from './problem.js';
import type { Operation, OperationEntry } from './schema.js';
import { operationSchema } from './schema.js';
import type { SourceDocument } from './source-document.js';

/** Paths that the gateway answers itself, relative to the base path. */
const BUILT_IN_TEMPLATES = new Set(['/usage', '/openapi.json']);

/** What `mergeOperations` needs to know of `gateway.yaml`, which may itself have faults. */
export interface OperationEntries {
  readonly source: SourceDocument;
  /** The value of `operations`, not validated. */
  readonly value: unknown;
  readonly services: ReadonlySet<string>;
  /** False where a document could not be read, so that an operation may be described all the same. */
  readonly areDocumentsComplete: boolean;
}

/** Applies the entries to the drafts, then checks the whole. Faults that the schema reports are not reported again. */
export function mergeOperations(
  drafts: readonly OperationDraft[],
  entries: OperationEntries,
): { operations: Operation[]; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const merged = new Map<OperationDraft | number, OperationDraft>(drafts.map((draft) => [draft, draft]));
  const byMatch = new Map(drafts.map((draft) => [matchOf(draft), draft]));
  const entered = new Set<string>();
  for (const [index, value] of (Array.isArray(entries.value) ? entries.value : []).entries()) {
    const entry = readEntry(value);
    if (entry.match === undefined) continue;
    const path = ['operations', index];
    if (entered.has(entry.match)) {
      problems.push(entries.source.problem([...path, 'match'], `${entry.match} has an entry already`, 'join the two'));
      continue;
    }
    entered.add(entry.match);
    const described = byMatch.get(entry.match);
    const wrong = entryFault(entry, described, entries, byMatch.keys());
    if (wrong !== undefined) problems.push(entries.source.problem([...path, wrong.key], wrong.message, wrong.hint));
    else if (described !== undefined) merged.set(described, { ...described, ...entryFields(entry) });
    else if (entry.service !== undefined) merged.set(index, addedDraft(entry, entries.source, path));
  }
  const all = [...merged.values()];
  problems.push(...scopeProblems(all), ...collisionProblems(all), ...idProblems(all));
  return { operations: problems.length > 0 ? [] : numberOperations(all), problems };
}

interface EntryFault {
  readonly key: 'match' | 'service';
  readonly message: string;
  readonly hint?: string | undefined;
}

/** What keeps an entry from being applied, beyond what the schema says. */
function entryFault(
  entry: Partial<OperationEntry>,
  described: OperationDraft | undefined,
  entries: OperationEntries,
  matches: Iterable<string>,
): EntryFault | undefined {
  const { match = '', service } = entry;
  if (service !== undefined && !entries.services.has(service)) {
    return {
      key: 'service',
      message: `no service is called \`${service}\``,
      hint: didYouMean(service, entries.services),
    };
  }
  if (described !== undefined) {
    if (service === undefined || service === described.service) return undefined;
    const message = `${match} is described by the OpenAPI document of \`${described.service}\``;
    return { key: 'service', message, hint: 'leave `service` out' };
  }
  const wrong = templateProblem(match.slice(match.indexOf(' ') + 1));
  if (wrong !== undefined) return { key: 'match', message: `the path ${wrong}` };
  if (service !== undefined || !entries.areDocumentsComplete) return undefined;
  const hint = didYouMean(match, matches) ?? 'add `service`, or describe it in an OpenAPI document';
  return { key: 'match', message: `no OpenAPI document describes ${match}, so it needs a \`service\``, hint };
}

function addedDraft(entry: Partial<OperationEntry>, source: SourceDocument, path: DocumentPath): OperationDraft {
  const [method = '', template = ''] = (entry.match ?? '').split(' ');
  return { method, template, service: entry.service ?? '', ...entryFields(entry), source, path };
}

/** The valid fields of an entry; one that is there but wrong counts as given, so that its absence is not reported too. */
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
): Pick<OperationDraft, 'id' | 'scopes' | 'cost' | 'isWebSocket' | 'lifeCycle'> {
  const { deprecation = null, sunset = null, successor, brownouts = [] } = entry;
  const isEnding = deprecation !== null || sunset !== null || brownouts.length > 0;
  return {
    ...(isEnding ? { lifeCycle: { deprecation, sunset, successor, brownouts } } : {}),
    ...(entry.id === undefined ? {} : { id: entry.id }),
    ...(entry.scopes === undefined ? {} : { scopes: entry.scopes }),
    ...(entry.cost === undefined ? {} : { cost: entry.cost }),
    ...(entry.websocket === undefined ? {} : { isWebSocket: entry.websocket }),
  };
}

function scopeProblems(drafts: readonly OperationDraft[]): ConfigProblem[] {
  return drafts
    .filter((draft) => draft.scopes === undefined)
    .map((draft) => {
      const message = `${matchOf(draft)} names no scopes, so any valid key could call it`;
      const hint =
        draft.openapi === undefined
          ? 'add `scopes`; if any key may, say so: `scopes: []`'
          : `name them in its \`security\`; if any key may, say so in gateway.yaml: \`operations: [{ match: "${matchOf(draft)}", scopes: [] }]\``;
      return draft.source.problem(draft.path, message, hint, 'key');
    });
}

/** Operations that would take each other's requests, or those of the gateway's own paths. */
function collisionProblems(drafts: readonly OperationDraft[]): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const firstByShape = new Map<string, OperationDraft>();
  const firstByMethod = new Map<string, OperationDraft>();
  for (const draft of drafts) {
    const report = (message: string, hint: string): void => {
      problems.push(draft.source.problem(draft.path, message, hint, 'key'));
    };
    const shape = templateShape(draft.template);
    if (BUILT_IN_TEMPLATES.has(draft.template)) {
      report(`${draft.template} is answered by the gateway itself`, 'give the operation another path');
    }
    const same = firstByMethod.get(`${draft.method} ${shape}`);
    const first = firstByShape.get(shape);
    if (same !== undefined) {
      const where =
        same.service === draft.service ? 'is there already' : `is there already, in service \`${same.service}\``;
      report(`${matchOf(draft)} matches the same requests as ${matchOf(same)}, which ${where}`, 'remove one of them');
    } else if (first !== undefined && first.template !== draft.template) {
      report(`${matchOf(draft)} is the same path as ${matchOf(first)}`, `name its parameters alike: ${first.template}`);
    }
    firstByMethod.set(`${draft.method} ${shape}`, same ?? draft);
    firstByShape.set(shape, first ?? draft);
  }
  return problems;
}

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

/** Gives every operation its index, and an id where the author gave none. */
function numberOperations(drafts: readonly OperationDraft[]): Operation[] {
  const taken = new Set(drafts.flatMap((draft) => draft.id ?? []));
  return drafts.map((draft, index) => {
    const id = draft.id ?? freeId(draft, taken);
    taken.add(id);
    return {
      index,
      id,
      method: draft.method,
      template: draft.template,
      service: draft.service,
      scopes: draft.scopes ?? [],
      cost: draft.cost ?? 1,
      isWebSocket: draft.isWebSocket ?? false,
      ...(draft.lifeCycle === undefined ? {} : { lifeCycle: draft.lifeCycle }),
      ...(draft.openapi === undefined ? {} : { openapi: draft.openapi }),
    };
  });
}

/** `get_customers_id` for GET /customers/{id}, with a number where that is taken. */
function freeId(draft: OperationDraft, taken: ReadonlySet<string>): string {
  const words = `${draft.method} ${draft.template}`.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const base = words.join('_');
  let id = base;
  for (let number = 2; taken.has(id); number++) id = `${base}_${number}`;
  return id;
}

function matchOf(draft: { readonly method: string; readonly template: string }): string {
  return `${draft.method} ${draft.template}`;
}
