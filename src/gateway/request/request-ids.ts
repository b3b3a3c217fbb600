/** Names for requests: our request id and the W3C trace context (Trace Context, section 3). */
import { randomFillSync } from 'node:crypto';
import { withoutSecrets } from '../../keys/api-key-format.js';

/** Random bytes are drawn in blocks, because a call into the system's source costs more than a request id may. */
const BLOCK_BYTES = 4_096;
const block = Buffer.allocUnsafe(BLOCK_BYTES);
let used = BLOCK_BYTES;

const REQUEST_ID = /^[A-Za-z0-9_\-.]{1,128}$/;
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

/** Characters of `randomNames`: 12 bytes for a request id, 16 for a trace, 8 for a span. */
const REQUEST_ID_END = 24;
const TRACE_ID_END = REQUEST_ID_END + 32;
const SPAN_ID_END = TRACE_ID_END + 16;

/** Random hex digits for all the names of one request, drawn and written at once. */
export function randomNames(): string {
  return randomHex(SPAN_ID_END / 2);
}

/** The id of a request: the client's own `X-Request-Id` when it is usable and no API key, else a new one, `req_…`. */
export function requestId(offered: string | undefined, names = randomNames()): string {
  if (offered !== undefined && REQUEST_ID.test(offered) && withoutSecrets(offered) === offered) return offered;
  return `req_${names.slice(0, REQUEST_ID_END)}`;
}

/**
 * The trace context for the backend: the client's trace with a new span, or a new
 * trace when there is none or it is broken.
 */
export function traceparent(offered: string | undefined, names = randomNames()): string {
  const match = offered === undefined ? null : TRACEPARENT.exec(offered);
  const span = names.slice(TRACE_ID_END, SPAN_ID_END);
  if (match === null) return `00-${names.slice(REQUEST_ID_END, TRACE_ID_END)}-${span}-00`;
  return `00-${match[1]}-${span}-${match[2]}`;
}

function randomHex(bytes: number): string {
  if (used + bytes > BLOCK_BYTES) {
    randomFillSync(block);
    used = 0;
  }
  const text = block.toString('hex', used, used + bytes);
  used += bytes;
  return text;
}
