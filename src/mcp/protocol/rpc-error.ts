/**
 * What is wrong with a message of the protocol: a code of JSON-RPC or of MCP (2026-07-28, Basic, Error codes), and the
 * status that goes with it. What an operation refuses is none of these: a tool's result says it in words.
 */
import { MODERN_VERSION } from './versions.js';

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const METHOD_NOT_FOUND = -32_601;
export const INVALID_PARAMS = -32_602;
export const HEADER_MISMATCH = -32_020;
export const UNSUPPORTED_VERSION = -32_022;
/** Resource not found, of the legacy versions alone. */
export const LEGACY_RESOURCE_NOT_FOUND = -32_002;

/** RpcError is an error of the protocol on its way to the client. */
export class RpcError {
  /** @param status of HTTP, to a modern client; a legacy one that has sent a request gets 200, and the error in it. */
  constructor(
    readonly code: number,
    readonly message: string,
    readonly status: number,
    readonly data?: unknown,
  ) {}
}

/** What is no JSON, or is more than is taken. */
export function parseError(message: string): RpcError {
  return new RpcError(PARSE_ERROR, message, 400);
}

/** JSON that is no message. */
export function invalidRequest(message: string): RpcError {
  return new RpcError(INVALID_REQUEST, message, 400);
}

export function methodNotFound(method: string): RpcError {
  return new RpcError(METHOD_NOT_FOUND, `There is no method ${quoted(method)} here.`, 404);
}

/** Members of `_meta` that every modern request has. */
export function missingMeta(member: string): RpcError {
  return new RpcError(INVALID_PARAMS, `The member _meta of params must have ${member}.`, 400);
}

/** Parameters that a method does not take. The message was understood: HTTP says so. */
export function invalidParams(message: string, data?: unknown): RpcError {
  return new RpcError(INVALID_PARAMS, message, 200, data);
}

export function headerMismatch(message: string): RpcError {
  return new RpcError(HEADER_MISMATCH, `Header mismatch: ${message}`, 400);
}

/** Names the versions that a request may have in `_meta`. Legacy ones are agreed on with `initialize`. */
export function unsupportedVersion(requested: string): RpcError {
  const data = { supported: [MODERN_VERSION], requested: requested.slice(0, LONGEST_QUOTED) };
  return new RpcError(UNSUPPORTED_VERSION, 'Unsupported protocol version', 400, data);
}

const LONGEST_QUOTED = 100;

/** A text of the client's in a message, cut where it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > LONGEST_QUOTED ? `${text.slice(0, LONGEST_QUOTED)}…` : text);
}
