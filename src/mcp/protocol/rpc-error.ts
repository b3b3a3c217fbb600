/**
 * Defines the errors of the protocol, with a JSON-RPC or MCP code (2026-07-28, Basic, Error codes) and an HTTP status.
 * A failed API operation is not a protocol error but a tool result.
 */
import { MODERN_VERSION } from './versions.js';

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const METHOD_NOT_FOUND = -32_601;
export const INVALID_PARAMS = -32_602;
export const HEADER_MISMATCH = -32_020;
export const UNSUPPORTED_VERSION = -32_022;
/** Code for a resource that does not exist, in legacy versions only. */
export const LEGACY_RESOURCE_NOT_FOUND = -32_002;

/** RpcError is a protocol error to send to the client. It is returned, not thrown. */
export class RpcError {
  /** @param status HTTP status of the response. Legacy clients get 200 instead if their message could be parsed. */
  constructor(
    readonly code: number,
    readonly message: string,
    readonly status: number,
    readonly data?: unknown,
  ) {}
}

/**
 * Creates the error for a body that is not valid JSON, or that the parser refuses, for example because of its depth.
 */
export function parseError(message: string): RpcError {
  return new RpcError(PARSE_ERROR, message, 400);
}

/** Creates the error for valid JSON that is not a valid message. */
export function invalidRequest(message: string): RpcError {
  return new RpcError(INVALID_REQUEST, message, 400);
}

export function methodNotFound(method: string): RpcError {
  return new RpcError(METHOD_NOT_FOUND, `There is no method ${quoteText(method)} here.`, 404);
}

/** Creates the error for a required member that is missing in `_meta`. */
export function missingMeta(member: string): RpcError {
  return new RpcError(INVALID_PARAMS, `The member _meta of params must have ${member}.`, 400);
}

/** Creates the error for invalid parameters. The HTTP status is 200, because the message itself is valid. */
export function invalidParams(message: string, data?: unknown): RpcError {
  return new RpcError(INVALID_PARAMS, message, 200, data);
}

export function headerMismatch(message: string): RpcError {
  return new RpcError(HEADER_MISMATCH, `Header mismatch: ${message}`, 400);
}

/**
 * Creates the error for an unsupported protocol version. The error lists only the modern version, because legacy
 * versions are negotiated with `initialize`.
 */
export function unsupportedVersion(requested: string): RpcError {
  const data = { supported: [MODERN_VERSION], requested: requested.slice(0, LONGEST_QUOTED) };
  return new RpcError(UNSUPPORTED_VERSION, 'Unsupported protocol version', 400, data);
}

const LONGEST_QUOTED = 100;

/** Returns a client's text for an error message: quoted as JSON, and truncated to `LONGEST_QUOTED` characters. */
export function quoteText(text: string): string {
  return JSON.stringify(text.length > LONGEST_QUOTED ? `${text.slice(0, LONGEST_QUOTED)}…` : text);
}
