/** Queries of the request log. */

import type { RequestLogSource } from './request-log-row.js';

export interface RequestLogQuery {
  /** Time range in milliseconds, both ends included. */
  readonly from: number;
  readonly to: number;
  readonly keyId?: string | undefined;
  /** Only requests of keys whose scopes are all in this list. Undefined for all keys. */
  readonly granted?: readonly string[] | undefined;
  readonly operation?: string | undefined;
  /** Range of status codes, both ends included. */
  readonly status?: readonly [number, number] | undefined;
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
  readonly source?: RequestLogSource | undefined;
  /** From 1 to 100. */
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** With `asc`, oldest first, the cursor also continues with rows that are written later. */
  readonly order: 'asc' | 'desc';
}

const STATUS = /^([1-5])xx$|^([1-5]\d\d)$/;

/**
 * Parses a status filter: `4xx` is 400 to 499, `403` is that code, `error` is 400 and above. Undefined for other texts.
 */
export function statusRange(text: string): readonly [number, number] | undefined {
  if (text === 'error') return [400, 599];
  const [, hundreds, exact] = STATUS.exec(text) ?? [];
  if (hundreds !== undefined) return [Number(hundreds) * 100, Number(hundreds) * 100 + 99];
  return exact === undefined ? undefined : [Number(exact), Number(exact)];
}
