/** Names for requests: our request id and the W3C trace context (Trace Context, section 3). */
import { randomFillSync } from 'node:crypto';
import { withoutSecrets } from '../keys/api-key-format.js';

/** Random bytes are drawn in blocks, because a call into the system's source costs more than a request id may. */
const BLOCK_BYTES = 4_096;
const block = Buffer.allocUnsafe(BLOCK_BYTES);
let used = BLOCK_BYTES;

const REQUEST_ID = /^[A-Za-z0-9_\-.]{1,128}$/;
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

/** The id of a request: the client's own `X-Request-Id` when it is usable and no API key, else a new one, `req_…`. */
export function requestId(offered: string | undefined): string {
  if (offered !== undefined && REQUEST_ID.test(offered) && withoutSecrets(offered) === offered) return offered;
  return `req_${randomHex(12)}`;
}

/** The trace context for the backend: the client's trace with a new span, or a new trace when there is none or it is broken. */
export function traceparent(offered: string | undefined): string {
  const match = offered === undefined ? null : TRACEPARENT.exec(offered);
  if (match === null) return `00-${randomHex(16)}-${randomHex(8)}-00`;
  return `00-${match[1]}-${randomHex(8)}-${match[2]}`;
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
