/** Calls API operations as tools. Turns the arguments into an API request, and the response into a tool result. */
import type { InnerResponse } from '../../admission/mounted/inner-call.js';
import { areFaults, type Tool } from '../../config/tools/tool.js';
import type { MethodCall } from '../method-call.js';
import type { JsonObject } from '../protocol/message.js';
import { countCall } from '../mcp-metrics.js';
import { faultsText, refusalText } from './refusal-words.js';
import { responseResult } from './response-words.js';
import { errorResult } from './result.js';

/** Calls the operation of a tool, and responds with the tool result. If the client disconnects, cancels the call. */
export function callOperation(call: MethodCall, tool: Tool, args: JsonObject): void {
  const bound = tool.bind(args);
  if (areFaults(bound)) {
    refuseFaults(call, faultsText(bound, call.request.requestId));
    return;
  }
  const { request, parts } = call;
  const mostBytes = parts.settings().mostResponseBytes;
  let isDone = false;
  const running = parts.host.inner.begin(
    {
      operation: tool.operation,
      url: parts.basePathOf(tool.operation) + bound.url,
      lines: bound.lines,
      body: bound.body,
      carrier: request,
      key: call.key,
      tool: tool.name,
      mostBytes,
    },
    (response) => {
      isDone = true;
      request.closeListener = undefined;
      request.quotaLines = response.quotaLines;
      respond(call, tool, response, mostBytes);
    },
  );
  if (!isDone) request.closeListener = { onClose: () => running.cancel() };
}

function respond(call: MethodCall, tool: Tool, response: InnerResponse, mostBytes: number): void {
  const { problem } = response;
  countCall('tools/call', problem === undefined ? 'success' : 'tool_error');
  try {
    const { requestId } = call.request;
    if (problem === undefined) {
      call.respondWithResult(
        responseResult(tool, response, mostBytes, requestId, (fields) => warn(call, tool, fields)),
      );
    } else call.respondWithResult(errorResult(refusalText(problem, requestId)));
  } catch (error) {
    call.respondWithProblem(error);
  }
}

function warn({ parts }: MethodCall, { name }: Tool, fields: readonly string[]): void {
  const message = 'A result has fields of other types than its description says; structured content leaves them out';
  parts.misfits.warn({ event: 'tool_result_misfit', tool: name, fields }, message);
}

/** Responds to a call with invalid arguments. No API request was sent, so this is a free call. */
function refuseFaults(call: MethodCall, text: string): void {
  void call.countFree().then((problem) => {
    countCall('tools/call', 'tool_error');
    call.respondWithResult(errorResult(problem === undefined ? text : refusalText(problem, call.request.requestId)));
  });
}
