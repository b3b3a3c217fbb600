/** Parses the body of an MCP message. */
import { JsonError, readJson } from '../../platform/json/read-json.js';
import { parseError, type RpcError } from './rpc-error.js';

/** Parses UTF-8 JSON, and keeps all digits of numbers. Returns a JSON-RPC error if the JSON is invalid. */
export function parseJson(bytes: Buffer): { readonly value: unknown } | RpcError {
  try {
    return { value: readJson(bytes) };
  } catch (error) {
    if (error instanceof JsonError) return parseError(`The body ${error.message}.`);
    throw error;
  }
}
