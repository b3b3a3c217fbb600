/** The server's own tools: what is left of the limits, and a search where there are very many operations. */
import type { RequestSource } from '../../admission/doors/request-source.js';
import { Problem } from '../../problems/errors.js';
import type { MethodCall } from '../method-call.js';
import { noteCall } from '../mcp-metrics.js';
import { isObject, type JsonObject } from '../protocol/message.js';
import { quoted } from '../protocol/rpc-error.js';
import { callOperation } from './operation-call.js';
import { faultsText, refusalText } from './refusal-words.js';
import { errorResult, textResult } from './result.js';
import { foundTools } from './search.js';
import { visibleTools } from './visible-tools.js';

/** OwnTool is a tool that is no operation. */
interface OwnTool {
  /** Counts, responds, and never throws. */
  serve(call: MethodCall, args: JsonObject): void;
}

const USUAL_RESULTS = 5;
const MOST_RESULTS = 20;
const LONGEST_QUERY = 200;

/** By their names. */
export const OWN_TOOLS: ReadonlyMap<string, OwnTool> = new Map<string, OwnTool>([
  ['get_usage', { serve: (call) => free(call, 'get_usage', () => usageText(call)) }],
  ['search_operations', { serve: (call, args) => free(call, 'search_operations', () => searchResult(call, args)) }],
  ['call_operation', { serve: callByName }],
]);

/** Counts a call as one that costs nothing, and responds with what it says. */
function free(call: MethodCall, tool: string, result: () => string | Promise<string>): void {
  call.request.source = ownSource(tool);
  void call
    .countFree()
    .then(async (problem) => {
      if (problem !== undefined) throw problem;
      return result();
    })
    .then(
      (members) => {
        noteCall('tools/call', 'success');
        call.respond(members);
      },
      (error: unknown) => refuse(call, error),
    );
}

function refuse(call: MethodCall, error: unknown): void {
  if (!(error instanceof Problem)) {
    call.refuse(error);
    return;
  }
  noteCall('tools/call', 'tool_error');
  call.respond(errorResult(refusalText(error, call.request.requestId)));
}

async function usageText({ key, parts }: MethodCall): Promise<string> {
  try {
    return textResult(JSON.stringify(await parts.usage.readWithRows(key.record, undefined, key.subject)));
  } catch (error) {
    throw error instanceof Problem ? error : new Problem('quota_unavailable', { cause: error });
  }
}

function searchResult({ key, parts, request }: MethodCall, args: JsonObject): string {
  const { query, limit = USUAL_RESULTS } = args;
  const faults = [
    ...(typeof query === 'string' && query !== '' && query.length <= LONGEST_QUERY
      ? []
      : [{ field: 'query', detail: `must be a text of 1 to ${LONGEST_QUERY} characters` }]),
    ...(Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= MOST_RESULTS
      ? []
      : [{ field: 'limit', detail: `must be a whole number from 1 to ${MOST_RESULTS}` }]),
  ];
  if (faults.length > 0) return errorResult(faultsText({ faults }, request.requestId));
  const { tools } = visibleTools(parts.tools.current, key.scopeSet);
  const found = foundTools(tools, query as string, limit as number);
  if (found.length > 0) return textResult(`{"operations":[${found.map(({ json }) => json).join(',')}]}`);
  const names = tools.slice(0, MOST_NAMES).map(({ name }) => name);
  return textResult(JSON.stringify({ operations: [], all_names: names }));
}

/** Told where nothing was found, so that the next words are better ones. */
const MOST_NAMES = 300;

function callByName(call: MethodCall, { name, arguments: args = {} }: JsonObject): void {
  const tool = typeof name === 'string' ? call.parts.tools.current.byName.get(name) : undefined;
  if (tool !== undefined && isObject(args)) {
    callOperation(call, tool, args);
    return;
  }
  const fault =
    tool === undefined
      ? { field: 'name', detail: `must be one that search_operations gave; ${quoted(String(name))} is none` }
      : { field: 'arguments', detail: 'must be an object' };
  free(call, 'call_operation', () => errorResult(faultsText({ faults: [fault] }, call.request.requestId)));
}

function ownSource(tool: string): RequestSource {
  return { name: 'mcp', tool, isCarrier: false };
}
