/** Parses the body of a message, which a stranger has sent. */
import { JsonError, readJson } from '../../platform/json/read-json.js';
import { parseError, type RpcError } from './rpc-error.js';

/** Returns the value of a JSON text in UTF-8, its numbers with all their digits, or the error of the protocol. */
export function parseJson(bytes: Buffer): { readonly value: unknown } | RpcError {
  try {
    return { value: readJson(bytes) };
  } catch (error) {
    if (error instanceof JsonError) return parseError(`The body ${error.message}.`);
    throw error;
  }
}
