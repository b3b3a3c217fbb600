/** Generates request IDs and span IDs, and parses the caller's `traceparent` (W3C Trace Context, section 3). */
import { randomFillSync } from 'node:crypto';
import { withoutSecrets } from '../../keys/api-key-format.js';

/** Size of the blocks in which random bytes are generated. A system call per request would be too slow. */
const BLOCK_BYTES = 4_096;
const block = Buffer.allocUnsafe(BLOCK_BYTES);
let used = BLOCK_BYTES;

const REQUEST_ID = /^[A-Za-z0-9_\-.]{1,128}$/;
/** Matches a `traceparent`. Version 00 has four members. A higher version can have more. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** The flag `sampled` of `traceparent`. */
export const SAMPLED = 1;

/**
 * End offsets of the IDs in the result of `randomIdDigits`: 12 bytes for the request ID, then 8 bytes for the span ID.
 */
const REQUEST_ID_END = 24;
const SPAN_ID_END = REQUEST_ID_END + 16;

/** Returns the random hex digits from which the request ID and the span ID of a request are cut. */
export function randomIdDigits(): string {
  return randomHex(SPAN_ID_END / 2);
}

/**
 * Returns the client's `X-Request-Id` if it is valid and contains no API key. Otherwise returns a new ID, such as
 * `req_…`.
 */
export function requestId(offered: string | undefined, idDigits = randomIdDigits()): string {
  if (offered !== undefined && REQUEST_ID.test(offered) && withoutSecrets(offered) === offered) return offered;
  return `req_${idDigits.slice(0, REQUEST_ID_END)}`;
}

/**
 * Returns the `traceparent` for the backend, with the caller's trace and flags and a new span ID. Returns an empty
 * string if the caller's value is missing or invalid. For use without `tracing`, when the gateway starts no traces. A
 * new trace would decide for the backend whether its requests are sampled.
 */
export function continuedTrace(offered: string | readonly string[] | undefined, idDigits = randomIdDigits()): string {
  const caller = parseTraceparent(offered);
  if (caller === undefined) return '';
  return `00-${caller.traceId}-${spanIdOf(idDigits)}-${caller.flags.toString(16).padStart(2, '0')}`;
}

/** CallerTrace is the trace context in a caller's `traceparent`. */
export interface CallerTrace {
  /** Trace ID, 32 hex digits. */
  readonly traceId: string;
  /** Span ID of the caller, 16 hex digits. */
  readonly parentId: string;
  /** Trace flags. For a version above 00, only the flag `sampled`. */
  readonly flags: number;
}

/**
 * Parses a `traceparent`. A higher version is read as version 00, with only the flag `sampled` (W3C Trace Context,
 * section 4.3).
 * @returns undefined if the value is missing or invalid
 */
export function parseTraceparent(offered: string | readonly string[] | undefined): CallerTrace | undefined {
  const match = typeof offered === 'string' ? TRACEPARENT.exec(offered) : null;
  if (match === null) return undefined;
  const [, version, traceId = '', parentId = '', digits = '', more] = match;
  const flags = Number.parseInt(digits, 16);
  if (version === '00') return more === undefined ? { traceId, parentId, flags } : undefined;
  return { traceId, parentId, flags: flags & SAMPLED };
}

/**
 * Returns the span ID for the backend call.
 * @param idDigits result of `randomIdDigits`
 */
export function spanIdOf(idDigits: string): string {
  return idDigits.slice(REQUEST_ID_END, SPAN_ID_END);
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
