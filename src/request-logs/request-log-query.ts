/** What is asked of the log. */

import type { RequestLogSource } from './request-log-row.js';

/** RequestLogQuery says which rows, and in which order. */
export interface RequestLogQuery {
  /** The first instant and the last one, ms; both are in it. */
  readonly from: number;
  readonly to: number;
  readonly keyId?: string | undefined;
  /** Only requests of keys that have no scopes but these; undefined: of all. */
  readonly granted?: readonly string[] | undefined;
  readonly operation?: string | undefined;
  /** The lowest and the highest status. */
  readonly status?: readonly [number, number] | undefined;
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
  readonly source?: RequestLogSource | undefined;
  /** 1–100. */
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** `asc`: oldest first, and its cursor goes on with whatever is written later. */
  readonly order: 'asc' | 'desc';
}

const STATUS = /^([1-5])xx$|^([1-5]\d\d)$/;

/** `4xx` → 400 to 499, `403` → that alone, `error` → 400 and above; undefined for what is none of them. */
export function statusRange(text: string): readonly [number, number] | undefined {
  if (text === 'error') return [400, 599];
  const [, hundreds, exact] = STATUS.exec(text) ?? [];
  if (hundreds !== undefined) return [Number(hundreds) * 100, Number(hundreds) * 100 + 99];
  return exact === undefined ? undefined : [Number(exact), Number(exact)];
}
