/**
 * Implements the server's own tools: `get_usage`, and two tools for APIs with too many operations to list.
 * `search_operations` finds operations, and `call_operation` calls them.
 */
import type { ArgumentFault } from '../../config/tools/tool.js';
import type { RequestSource } from '../../admission/mounted/request-source.js';
import { Problem } from '../../platform/problems/errors.js';
import { numberOf } from '../../platform/json/exact-json.js';
import type { MethodCall } from '../method-call.js';
import { countCall } from '../mcp-metrics.js';
import { isObject, type JsonObject } from '../protocol/message.js';
import { quoteText } from '../protocol/rpc-error.js';
import { callOperation } from './operation-call.js';
import { faultsText, refusalText } from './refusal-words.js';
import { errorResult, textResult } from './result.js';
import { allNamesText, foundText, foundTools } from './search.js';
import { visibleTools } from './visible-tools.js';

/** OwnTool serves the calls of a tool that is not an API operation. */
interface OwnTool {
  /** Counts a call, runs the tool and responds. Never throws. */
  serve(call: MethodCall, args: JsonObject): void;
}

const USUAL_RESULTS = 5;
const MAX_RESULTS = 20;
const LONGEST_QUERY = 200;
const MAX_FAULTS = 10;

/** Own tools of the server, by name. */
export const OWN_TOOLS: ReadonlyMap<string, OwnTool> = new Map<string, OwnTool>([
  ['get_usage', { serve: (call, args) => runFree(call, 'get_usage', () => usageResult(call, args)) }],
  ['search_operations', { serve: (call, args) => runFree(call, 'search_operations', () => searchResult(call, args)) }],
  ['call_operation', { serve: callByName }],
]);

/** Counts a free call, and responds with the result of the tool or with the error. */
function runFree(call: MethodCall, tool: string, result: () => string | Promise<string>): void {
  call.request.source = ownSource(tool);
  void call
    .countFree()
    .then(async (problem) => {
      if (problem !== undefined) throw problem;
      return result();
    })
    .then(
      (members) => {
        countCall('tools/call', 'success');
        call.respondWithResult(members);
      },
      (error: unknown) => refuse(call, error),
    );
}

function refuse(call: MethodCall, error: unknown): void {
  if (!(error instanceof Problem)) {
    call.respondWithProblem(error);
    return;
  }
  countCall('tools/call', 'tool_error');
  call.respondWithResult(errorResult(refusalText(error, call.request.requestId)));
}

async function usageResult({ key, parts, request }: MethodCall, args: JsonObject): Promise<string> {
  const faults = unknownIn(args, []);
  if (faults.length > 0) return errorResult(faultsText({ faults }, request.requestId));
  try {
    return textResult(JSON.stringify(await parts.usage.readWithRows(key.record, undefined, key.subject)));
  } catch (error) {
    throw error instanceof Problem ? error : new Problem('quota_unavailable', { cause: error });
  }
}

function searchResult({ key, parts, request }: MethodCall, args: JsonObject): string {
  const { query } = args;
  const limit = args['limit'] === undefined ? USUAL_RESULTS : numberOf(args['limit']);
  const faults = [
    ...unknownIn(args, ['query', 'limit']),
    ...(typeof query === 'string' && query !== '' && query.length <= LONGEST_QUERY
      ? []
      : [{ field: 'query', detail: `must be a text of 1 to ${LONGEST_QUERY} characters` }]),
    ...(Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= MAX_RESULTS
      ? []
      : [{ field: 'limit', detail: `must be a whole number from 1 to ${MAX_RESULTS}` }]),
  ];
  if (faults.length > 0) return errorResult(faultsText({ faults }, request.requestId));
  const { tools } = visibleTools(parts, key.scopeSet);
  const found = foundTools(tools, query as string, limit as number);
  return textResult(found.length > 0 ? foundText(found) : allNamesText(tools));
}

/** Serves `call_operation`. A call with invalid arguments is a free call. */
function callByName(call: MethodCall, given: JsonObject): void {
  const { name } = given;
  const args = given['arguments'] ?? {};
  const tool = typeof name === 'string' ? call.parts.tools.current.byName.get(name) : undefined;
  const faults = unknownIn(given, ['name', 'arguments']);
  if (tool === undefined) {
    const invalidName = typeof name === 'string' ? `; ${quoteText(name)} is none` : '';
    faults.push({ field: 'name', detail: `must be one that search_operations gave${invalidName}` });
  }
  if (!isObject(args)) faults.push({ field: 'arguments', detail: 'must be an object' });
  if (tool !== undefined && isObject(args) && faults.length === 0) callOperation(call, tool, args);
  else runFree(call, 'call_operation', () => errorResult(faultsText({ faults }, call.request.requestId)));
}

/** Returns an error for each unknown argument, up to `MAX_FAULTS` errors. */
function unknownIn(args: JsonObject, known: readonly string[]): ArgumentFault[] {
  const unknown = Object.keys(args).filter((name) => !known.includes(name));
  return unknown
    .slice(0, MAX_FAULTS)
    .map((field) => ({ field: field.slice(0, 100), detail: 'is not an argument of it' }));
}

function ownSource(tool: string): RequestSource {
  return { name: 'mcp', tool, isCarrier: false };
}
