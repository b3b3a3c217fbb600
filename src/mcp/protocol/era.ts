/**
 * Determines the era of a message, and checks the metadata of modern messages. Version, method and name must be the
 * same in headers and body, so that proxies can use the headers (2026-07-28, Streamable HTTP, Request metadata).
 */
import type { McpFields } from './mcp-fields.js';
import { isObject, type JsonObject, type RpcMessage } from './message.js';
import { headerMismatch, missingMeta, quoteText, RpcError, unsupportedVersion } from './rpc-error.js';
import { CAPABILITIES_MEMBER, isLegacyVersion, MODERN_VERSION, VERSION_MEMBER, type Era } from './versions.js';

const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** Parameter whose value `Mcp-Name` repeats, by method. */
const NAME_MEMBERS: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

/** Returns the era of a message, or the error in its version or metadata. */
export function eraOf(headers: McpFields, message: RpcMessage): Era | RpcError {
  const inHeader = headers['mcp-protocol-version'];
  const meta = metaOf(message.params);
  const inBody = meta?.[VERSION_MEMBER];
  if (inBody === undefined) {
    if (inHeader === undefined || isLegacyVersion(inHeader)) return 'legacy';
    if (inHeader !== MODERN_VERSION) return unsupportedVersion(inHeader);
    // The specification defines no metadata headers for notifications of modern clients.
    return message.id === undefined ? 'modern' : missingMeta(VERSION_MEMBER);
  }
  if (typeof inBody !== 'string') return missingMeta(VERSION_MEMBER);
  if (inHeader === undefined) return headerMismatch('MCP-Protocol-Version is missing.');
  if (inHeader !== inBody) {
    return headerMismatch(`MCP-Protocol-Version is ${quoteText(inHeader)}, and in the body ${quoteText(inBody)}.`);
  }
  if (inBody !== MODERN_VERSION) return unsupportedVersion(inBody);
  return message.id === undefined ? 'modern' : (metadataError(headers, message, meta!) ?? 'modern');
}

/** Returns the `_meta` object of a message's parameters, or undefined if there is none. */
export function metaOf(params: JsonObject): JsonObject | undefined {
  const { _meta: meta } = params;
  return isObject(meta) ? meta : undefined;
}

/** Returns the error in the headers or `_meta` of a modern request, or undefined. */
function metadataError(headers: McpFields, { method, params }: RpcMessage, meta: JsonObject): RpcError | undefined {
  const methodHeader = headers['mcp-method'];
  if (methodHeader !== method) {
    if (methodHeader === undefined) return headerMismatch('Mcp-Method is missing.');
    return headerMismatch(`Mcp-Method is ${quoteText(methodHeader)}, and in the body ${quoteText(method)}.`);
  }
  const member = NAME_MEMBERS.get(method);
  const name = member === undefined ? undefined : params[member];
  if (typeof name === 'string') {
    const encoded = headers['mcp-name'];
    if (encoded === undefined) return headerMismatch('Mcp-Name is missing.');
    const decoded = decodedValue(encoded);
    if (decoded === undefined) return headerMismatch('Mcp-Name is not encoded as it should be.');
    if (decoded !== name)
      return headerMismatch(`Mcp-Name is ${quoteText(decoded)}, and in the body ${quoteText(name)}.`);
  }
  return isObject(meta[CAPABILITIES_MEMBER]) ? undefined : missingMeta(CAPABILITIES_MEMBER);
}

/** Decodes a header value that is plain text or Base64 (`=?base64?…?=`). Returns undefined for invalid Base64. */
export function decodedValue(value: string): string | undefined {
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const base64 = ENCODED.exec(value)?.[1];
  if (base64 === undefined) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  return bytes.toString('base64') === base64 ? bytes.toString('utf8') : undefined;
}
