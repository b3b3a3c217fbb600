/** Responses of JSON-RPC as text. What a method says is members of its result, already JSON. */
import type { RequestId } from './message.js';
import type { RpcError } from './rpc-error.js';
import { SERVER_INFO_MEMBER, type Era } from './versions.js';

/** How long a client may keep a list, and what it has read (2026-07-28, Caching). */
export const CACHE_MS = 60_000;
/** What a key may see is not for another's. */
const CACHE_MEMBERS = `"ttlMs":${CACHE_MS},"cacheScope":"private"`;

/** What a modern result is: all that there is, or a question to the client, who asks again with what it says. */
export type ResultType = 'complete' | 'input_required';

/** Who serves, as every modern result says it: JSON. */
export function serverInfoText(name: string, version: string): string {
  return JSON.stringify({ name, version });
}

/**
 * A result.
 * @param members of it, as JSON without braces; may be empty.
 * @param serverInfo JSON.
 * @param isCacheable whether the specification wants it to say how long it may be kept.
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

/** An error. @param id undefined where none could be read. */
export function errorText({ code, message, data }: RpcError, id: RequestId | undefined): string {
  return JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message, data } });
}
