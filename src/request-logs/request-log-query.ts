/** Defines the filters of a query for the request log, and parses status filters. */

import type { RequestLogSource } from './request-log-row.js';

export interface RequestLogQuery {
  /** Time range of the ends of requests, in milliseconds since the epoch. Both limits are included. */
  readonly from: number;
  readonly to: number;
  readonly keyId?: string | undefined;
  /** Limits the result to API keys whose scopes are all in this list; undefined for all keys. */
  readonly granted?: readonly string[] | undefined;
  readonly operation?: string | undefined;
  /** Range of status codes. Both limits are included. */
  readonly status?: readonly [number, number] | undefined;
  /** Error code. */
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
  readonly source?: RequestLogSource | undefined;
  /** Maximum number of rows per page, from 1 to 100. */
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** `asc` returns the oldest rows first. Its cursor also continues with rows that are written later. */
  readonly order: 'asc' | 'desc';
}

const STATUS = /^([1-5])xx$|^([1-5]\d\d)$/;

/**
 * Parses a status filter such as `4xx` (400 to 499), `403` (only 403) or `error` (400 to 599). Returns undefined for
 * any other text.
 */
export function statusRange(text: string): readonly [number, number] | undefined {
  if (text === 'error') return [400, 599];
  const [, hundreds, exact] = STATUS.exec(text) ?? [];
  if (hundreds !== undefined) return [Number(hundreds) * 100, Number(hundreds) * 100 + 99];
  return exact === undefined ? undefined : [Number(exact), Number(exact)];
}
