/** Builds MCP tools from an OpenAPI document of a test, as the program does. */
import { ReadApis } from '../../src/config/openapi/read-apis.js';
import { formatPath, type ConfigProblem, type DocumentPath } from '../../src/config/model/problem.js';
import { readOperations } from '../../src/config/openapi/openapi-operations.js';
import { DocumentSettings } from '../../src/config/openapi/document-settings.js';
import { mergeOperations } from '../../src/config/openapi/operations.js';
import type { SourceDocument } from '../../src/config/source/source-document.js';
import { readTools } from '../../src/config/tools/making/read-tools.js';
import { makeToolSet } from '../../src/config/tools/calling/tool-set.js';
import type { ArgumentFaults, BoundRequest, Tool, ToolSet } from '../../src/config/tools/tool.js';

/** Parts of an OpenAPI document. The operations in `paths` set `x-mcp` themselves. */
export interface ToolDocument {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components?: Readonly<Record<string, unknown>>;
  readonly openapi?: '3.0.3' | '3.1.1';
  /** `operations` of `gateway.yaml`. */
  readonly entries?: readonly object[];
}

/** Builds all tools of a document. @throws Error with the first problem. */
export function toolsOf({ paths, components = {}, openapi = '3.1.1', entries: value = [] }: ToolDocument): ToolSet {
  const document = { openapi, security: [{ key: ['a:b'] }], paths, components };
  const { drafts, problems } = readOperations('s', { value: document, source: SOURCE }, new DocumentSettings({}));
  const entries = {
    source: SOURCE,
    value,
    services: new Set(['s']),
    apis: new ReadApis({}),
    defaultScopes: new Map(),
    areDocumentsComplete: true,
  };
  const merged = mergeOperations(drafts, entries);
  const made = readTools(merged.numbered, new Map([['s', document]]));
  const [problem] = [...problems, ...merged.problems, ...made.problems];
  if (problem !== undefined) throw new Error(`${problem.path}: ${problem.message}`);
  return makeToolSet(made.tools, merged.operations);
}

/** Source of the document. The document is in no file, so every problem is at line 1, column 1. */
const SOURCE = {
  file: 's.json',
  problem: (path: DocumentPath, message: string, hint: string): ConfigProblem => {
    return { file: 's.json', line: 1, column: 1, path: formatPath(path), message, hint };
  },
} as SourceDocument;

/** Builds the tool of one operation. @param rest properties that are added to the operation or replace its own. */
export function toolOf(
  match: string,
  rest: Readonly<Record<string, unknown>>,
  document: Omit<ToolDocument, 'paths'> = {},
): Tool {
  const [method = '', path = ''] = match.split(' ');
  const operation = { operationId: 'op', 'x-mcp': true, responses: { '200': { description: 'ok' } }, ...rest };
  const { tools } = toolsOf({ ...document, paths: { [path]: { [method.toLowerCase()]: operation } } });
  const [tool] = tools;
  if (tool === undefined) throw new Error('no tool');
  return tool;
}

/** Returns the request that a call makes, with its body as text, or the faults of the arguments. */
export function bindCall(tool: Tool, args: Readonly<Record<string, unknown>>): BoundRequestText | ArgumentFaults {
  const request = tool.bind(args);
  return 'faults' in request ? request : { ...request, body: request.body?.toString() };
}

type BoundRequestText = Omit<BoundRequest, 'body'> & { readonly body: string | undefined };

/** Returns the part of an operation with one query parameter `q`. */
export const query = (schema: unknown, more: object = {}) => ({
  parameters: [{ name: 'q', in: 'query', schema, ...more }],
});
/** Returns a JSON body with this schema. */
export const json = (schema: unknown) => ({ content: { 'application/json': { schema } } });
/** Returns the part of an operation with a JSON response. */
export const ok = (schema: unknown) => ({ responses: { '200': { description: 'ok', ...json(schema) } } });
/** Returns the properties of a schema. */
export const propertiesOf = (schema: unknown): Readonly<Record<string, unknown>> =>
  (schema as { properties?: Readonly<Record<string, unknown>> } | undefined)?.properties ?? {};
