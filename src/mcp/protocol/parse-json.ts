/** Parses the JSON bodies of MCP requests. Invalid JSON is a JSON-RPC error. */
import { JsonError, readJson } from '../../platform/json/read-json.js';
import { parseError, type RpcError } from './rpc-error.js';

/**
 * Parses UTF-8 JSON, and keeps all digits of numbers. Returns a JSON-RPC error for invalid or refused JSON, see
 * `readJson`.
 */
export function parseJson(bytes: Buffer): { readonly value: unknown } | RpcError {
  try {
    return { value: readJson(bytes) };
  } catch (error) {
    if (error instanceof JsonError) return parseError(`The body ${error.message}.`);
    throw error;
  }
}
