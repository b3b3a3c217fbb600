/**
 * Implements `tools/call`. Calls one of the server's own tools, which are free, or an API operation at its normal cost.
 * The scope step refuses operations that the key may not call.
 */
import { isObject, type JsonObject } from '../protocol/message.js';
import { invalidParams, quoteText } from '../protocol/rpc-error.js';
import { callOperation } from '../tools/operation-call.js';
import { OWN_TOOLS } from '../tools/own-tools.js';
import type { Method } from '../method-call.js';

const NO_ARGUMENTS: JsonObject = Object.freeze({});

export const callTool: Method = {
  name: 'tools/call',
  serve(call) {
    const { name } = call.message.params;
    // Some clients send null if there are no arguments.
    const args = call.message.params['arguments'] ?? NO_ARGUMENTS;
    if (typeof name !== 'string') return call.respondWithError(invalidParams('"name" must be the name of a tool.'));
    if (!isObject(args)) return call.respondWithError(invalidParams('"arguments" must be an object.'));
    const tool = call.parts.tools.current.byName.get(name);
    if (tool !== undefined) return callOperation(call, tool, args);
    const own = OWN_TOOLS.get(name);
    if (own !== undefined) return own.serve(call, args);
    call.respondWithError(invalidParams(`Unknown tool: ${quoteText(name)}. tools/list has those that there are.`));
  },
};
