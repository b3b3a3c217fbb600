/** Formats JSON-RPC responses as text. Methods provide the members of a result as JSON. */
import type { RequestId } from './message.js';
import type { RpcError } from './rpc-error.js';
import { SERVER_INFO_MEMBER, type Era } from './versions.js';

/** Time for which clients may cache lists and resources, in ms (2026-07-28, Caching). */
export const CACHE_MS = 60_000;
/** Members of a cacheable result. The scope is private, because results depend on the key. */
const CACHE_MEMBERS = `"ttlMs":${CACHE_MS},"cacheScope":"private"`;

/** ResultType is the type of a modern result: complete, or a question that the client answers in another request. */
export type ResultType = 'complete' | 'input_required';

/** Formats the name and version of the server as JSON, for `initialize` and for every modern result. */
export function serverInfoText(name: string, version: string): string {
  return JSON.stringify({ name, version });
}

/**
 * Formats the response with a result.
 * @param members members of the result, as JSON without braces; may be empty
 * @param serverInfo result of `serverInfoText`; used only for the modern era
 * @param isCacheable whether the specification requires a cache lifetime; used only for the modern era
 */
export function resultText(
  era: Era,
  id: RequestId,
  members: string,
  serverInfo: string,
  isCacheable: boolean,
  resultType: ResultType = 'complete',
): string {
  const begin = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{`;
  if (era === 'legacy') return `${begin}${members}}}`;
  const own = members === '' ? '' : `,${members}`;
  const cache = isCacheable ? `,${CACHE_MEMBERS}` : '';
  return `${begin}"resultType":"${resultType}"${own}${cache},"_meta":{"${SERVER_INFO_MEMBER}":${serverInfo}}}}`;
}

/**
 * Formats the response with an error.
 * @param id undefined if the ID of the message could not be read
 */
export function errorText({ code, message, data }: RpcError, id: RequestId | undefined): string {
  return JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message, data } });
}
