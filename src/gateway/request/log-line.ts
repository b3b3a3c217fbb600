/** Formats the log line of a request. It never contains a secret. */
import { withoutSecrets } from '../../keys/api-key-format.js';
import type { CachedKey } from '../../keys/cached-key.js';
import { formatUtc } from '../../platform/rfc3339.js';
import type { RequestSource } from '../../admission/doors/request-source.js';
import type { Exchange } from './exchange.js';

const LONGEST_PATH = 1_000;
/** HTTP/2 methods may be as long as a head. */
const LONGEST_METHOD = 32;

/**
 * Formats the line of a finished request. Only the path, the address and the operation ID need escaping; all other
 * values are our own.
 */
export function logLine(
  exchange: Exchange,
  key: CachedKey | undefined,
  status: number,
  durationMs: number,
  nowMs: number,
): string {
  const { operation, decision } = exchange;
  const { traceId } = exchange;
  const trace = traceId === '' ? '' : `,"trace_id":"${traceId}"`;
  const who = key === undefined ? '' : `,"account_id":"${key.record.accountId}","api_key_id":"${key.record.keyId}"`;
  const where =
    operation === undefined ? '' : `,"operation":${JSON.stringify(operation.id)},"service":"${operation.service}"`;
  const quota = decision === undefined ? '' : `,"quota":"${decision.admitted ? 'admitted' : 'refused'}"`;
  const code = exchange.problemCode === '' ? '' : `,"code":"${exchange.problemCode}"`;
  const replayed = exchange.keyed?.isReplay === true ? ',"replayed":true' : '';
  const upload = exchange.isUploadCut ? ',"upload":"cut"' : '';
  const upstream = exchange.upstreamMs < 0 ? '' : `,"upstream_ms":${exchange.upstreamMs.toFixed(2)}`;
  const source = exchange.source === undefined ? '' : sourceMembers(exchange.source);
  return (
    `{"level":"info","time":"${formatUtc(nowMs)}","event":"request","request_id":"${exchange.requestId}"${trace},` +
    `"method":${JSON.stringify(loggedMethod(exchange))},"path":${JSON.stringify(loggedPath(exchange))},"status":${status},` +
    `"duration_ms":${durationMs.toFixed(2)}${upstream}${who}${where}${source}${quota}${replayed}${upload}${code},` +
    `"client_address":${JSON.stringify(exchange.clientAddress)}}\n`
  );
}

/** Returns the path without secrets and without the query, of limited length. */
export function loggedPath({ path }: Exchange): string {
  return withoutSecrets(path).slice(0, LONGEST_PATH);
}

/** Returns the method, of limited length. */
export function loggedMethod({ message }: Exchange): string {
  return (message.method ?? '').slice(0, LONGEST_METHOD);
}

/** Formats the source. Tool names come from the configuration and need no escaping. */
function sourceMembers({ name, tool }: RequestSource): string {
  return tool === '' ? `,"source":"${name}"` : `,"source":"${name}","tool":"${tool}"`;
}
