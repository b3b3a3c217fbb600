/**
 * Errors of the protocol: a JSON-RPC or MCP code (2026-07-28, Basic, Error codes) with an HTTP status. A failed
 * operation is not such an error, but a tool result.
 */
import { MODERN_VERSION } from './versions.js';

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const METHOD_NOT_FOUND = -32_601;
export const INVALID_PARAMS = -32_602;
export const HEADER_MISMATCH = -32_020;
export const UNSUPPORTED_VERSION = -32_022;
/** Resource not found; legacy versions only. */
export const LEGACY_RESOURCE_NOT_FOUND = -32_002;

/** RpcError is an error to be sent to the client. */
export class RpcError {
  /** @param status HTTP status for modern clients. Legacy clients get 200 if the message itself could be parsed. */
  constructor(
    readonly code: number,
    readonly message: string,
    readonly status: number,
    readonly data?: unknown,
  ) {}
}

/** Creates the error for invalid JSON or a body beyond a limit. */
export function parseError(message: string): RpcError {
  return new RpcError(PARSE_ERROR, message, 400);
}

/** Creates the error for JSON that is not a message. */
export function invalidRequest(message: string): RpcError {
  return new RpcError(INVALID_REQUEST, message, 400);
}

export function methodNotFound(method: string): RpcError {
  return new RpcError(METHOD_NOT_FOUND, `There is no method ${quoted(method)} here.`, 404);
}

/** Creates the error for a missing required member of `_meta`. */
export function missingMeta(member: string): RpcError {
  return new RpcError(INVALID_PARAMS, `The member _meta of params must have ${member}.`, 400);
}

/** Creates the error for invalid parameters. The status is 200, because the message itself was valid. */
export function invalidParams(message: string, data?: unknown): RpcError {
  return new RpcError(INVALID_PARAMS, message, 200, data);
}

export function headerMismatch(message: string): RpcError {
  return new RpcError(HEADER_MISMATCH, `Header mismatch: ${message}`, 400);
}

/**
 * Creates the error for an unsupported version. The error lists only the modern version, because legacy versions are
 * negotiated with `initialize`.
 */
export function unsupportedVersion(requested: string): RpcError {
  const data = { supported: [MODERN_VERSION], requested: requested.slice(0, LONGEST_QUOTED) };
  return new RpcError(UNSUPPORTED_VERSION, 'Unsupported protocol version', 400, data);
}

const LONGEST_QUOTED = 100;

/** Quotes a client's text for an error message and truncates it. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > LONGEST_QUOTED ? `${text.slice(0, LONGEST_QUOTED)}…` : text);
}
