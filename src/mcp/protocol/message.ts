/** Parses JSON-RPC 2.0 messages as MCP uses them: one message per body, with named parameters. */
import { type ExactNumber, isExactNumber, isWhole } from '../../platform/json/exact-json.js';
import { invalidRequest, RpcError } from './rpc-error.js';

export type JsonObject = Readonly<Record<string, unknown>>;
/**
 * RequestId is the ID of a message. `ExactNumber` keeps all digits of a number that a JavaScript number would change.
 */
export type RequestId = string | number | ExactNumber;

/** RpcRequest is a message to which the client expects a response. */
export interface RpcRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
}

/** RpcNotification is a message to which the client expects no response. */
export interface RpcNotification {
  readonly id: undefined;
  readonly method: string;
  readonly params: JsonObject;
}

export type RpcMessage = RpcRequest | RpcNotification;

const LONGEST_ID = 1_000;
const LONGEST_METHOD = 200;
const NO_PARAMS: JsonObject = Object.freeze({});

/** Returns the message in a parsed JSON body, or the error. */
export function messageIn(body: unknown): RpcMessage | RpcError {
  if (Array.isArray(body)) return invalidRequest('Send one message in a body: batches are not taken.');
  if (!isObject(body)) return invalidRequest('The body is not an object of JSON-RPC.');
  if (body['jsonrpc'] !== '2.0') return invalidRequest('"jsonrpc" must be "2.0".');
  const { method, id, params = NO_PARAMS } = body;
  if (isReply(body)) {
    return invalidRequest('The server has sent no request that this could be a response to.');
  }
  if (typeof method !== 'string' || method === '' || method.length > LONGEST_METHOD) {
    return invalidRequest('"method" must be the name of a method.');
  }
  if (!isObject(params)) return invalidRequest('"params" must be an object.');
  if (!Object.hasOwn(body, 'id')) return { id: undefined, method, params };
  if (!isId(id)) return invalidRequest('"id" must be a text, or a whole number.');
  return { id, method, params };
}

/** Reports whether a body has the form of a reply to a request. */
export function isReply(body: unknown): body is JsonObject {
  return isObject(body) && body['method'] === undefined && ('result' in body || 'error' in body);
}

/** Returns the ID of the message in a body, for an error response. Returns undefined if there is no valid ID. */
export function idIn(body: unknown): RequestId | undefined {
  return isObject(body) && isId(body['id']) ? body['id'] : undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

function isId(id: unknown): id is RequestId {
  if (typeof id === 'string') return id.length <= LONGEST_ID;
  if (isExactNumber(id)) return id.rawJSON.length <= LONGEST_ID && isWhole(id);
  return Number.isInteger(id);
}
