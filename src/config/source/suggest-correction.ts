/** Suggests how to correct an invalid value, such as `yes`, `10 seconds` or `"60"`. */
import type { z } from 'zod';
import { didYouMean } from '../model/problem.js';
import { networkFault } from '../../platform/network-list.js';
import {
  BASE_PATH_MESSAGE,
  BASE_PATH_PATTERN,
  CREDENTIALS_MESSAGE,
  EVERY_ADDRESS_MESSAGE,
  HOST_BITS_MESSAGE,
  HOST_MESSAGE,
  MAPPED_MESSAGE,
  ORIGIN_MESSAGE,
  PATH_MESSAGE,
  TARGET_HOST_MESSAGE,
  TARGET_MESSAGE,
  TWICE_MESSAGE,
} from '../model/address-values.js';
import {
  DATE_MESSAGE,
  DAYS_MESSAGE,
  DURATION_MESSAGE,
  INSTANT_MESSAGE,
  MATCH_MESSAGE,
  METHODS,
  POINTER_MESSAGE,
  SCOPE_MESSAGE,
  SIZE_MESSAGE,
} from '../model/values.js';

const BOOLEAN_WORDS: Readonly<Record<string, string>> = {
  yes: 'true',
  on: 'true',
  y: 'true',
  no: 'false',
  off: 'false',
  n: 'false',
};
const DURATION_UNITS: readonly (readonly [RegExp, string])[] = [
  [/^(ms|msecs?|millis|milliseconds?)$/, 'ms'],
  [/^(s|secs?|seconds?)$/, 's'],
  [/^(m|mins?|minutes?)$/, 'm'],
  [/^(h|hrs?|hours?)$/, 'h'],
  [/^(d|days?)$/, 'd'],
];
const SIZE_UNITS: readonly (readonly [RegExp, string])[] = [
  [/^(b|bytes?)$/, 'B'],
  [/^(k|ki|kib)$/, 'KiB'],
  [/^kb$/, 'KB'],
  [/^(m|mi|mib)$/, 'MiB'],
  [/^mb$/, 'MB'],
  [/^(g|gi|gib)$/, 'GiB'],
  [/^gb$/, 'GB'],
];

/** Hints by the message of the schema. A hint is a text, or a function of the invalid value. */
const HINTS_BY_MESSAGE: Readonly<Record<string, string | ((text: string) => string | undefined)>> = {
  [MATCH_MESSAGE]: matchHint,
  [DURATION_MESSAGE]: (text) => durationHint(text, 's'),
  [DAYS_MESSAGE]: (text) => durationHint(text, 'd'),
  [SIZE_MESSAGE]: (text) => withUnit(text, SIZE_UNITS, 'write a number and its unit: 10MiB'),
  [DATE_MESSAGE]: 'use a valid date, such as 2027-01-31',
  [INSTANT_MESSAGE]: 'with its time zone: 2027-01-31T10:00:00Z',
  [SCOPE_MESSAGE]: 'lower-case letters, digits, - and _; `resource:*` is every verb',
  [POINTER_MESSAGE]: (text) => `write /${text.replaceAll(/^[$./]+/g, '').replaceAll('.', '/')}`,
  [TARGET_MESSAGE]: (text) =>
    `write ${/^[\w.-]*[A-Za-z.][\w.-]*(:\d+)?$/.test(text) ? `http://${text}` : 'it as in http://10.0.0.7:4001'}`,
  [TARGET_HOST_MESSAGE]: 'write environment variables in braces: ${NAME}',
  [CREDENTIALS_MESSAGE]: 'let the backend know the gateway by its address, or by a certificate (`tls`)',
  [TWICE_MESSAGE]: 'keep one of them',
  [HOST_BITS_MESSAGE]: networkHint,
  [MAPPED_MESSAGE]: networkHint,
  [EVERY_ADDRESS_MESSAGE]: 'name the networks of your load balancers',
  [HOST_MESSAGE]: 'write the address only; the port is a separate setting',
  [BASE_PATH_MESSAGE]: basePathHint,
  [PATH_MESSAGE]: (text) => (/^[\w./-]+$/.test(text) ? `write /${text}` : undefined),
  [ORIGIN_MESSAGE]: (text) => (URL.canParse(text) ? `write ${new URL(text).origin}` : undefined),
};

/** Returns a hint for correcting an invalid value. Returns undefined if no hint applies. */
export function suggestCorrection(issue: z.core.$ZodIssue, found: unknown): string | undefined {
  const hint = Object.hasOwn(HINTS_BY_MESSAGE, issue.message) ? HINTS_BY_MESSAGE[issue.message] : undefined;
  const isSingle = typeof found === 'string' || typeof found === 'number';
  if (hint !== undefined && isSingle) return typeof hint === 'string' ? hint : hint(String(found));
  if (issue.code !== 'invalid_type') return undefined;
  switch (issue.expected) {
    case 'int':
    case 'number':
      return typeof found === 'string' ? numberHint(found) : undefined;
    case 'boolean':
      return booleanHint(found);
    case 'array':
      return typeof found === 'object' ? undefined : 'write it as a list: in [ ], or on lines that begin with -';
    case 'string':
      return typeof found === 'number' || typeof found === 'boolean' ? `put it in quotes: "${found}"` : undefined;
    default:
      return undefined;
  }
}

/** Suggests a correction of method and path, for values such as `get /customers`, `/customers` or `ANY /customers`. */
function matchHint(text: string): string {
  const [first = '', ...rest] = text.trim().split(/\s+/);
  const method = first.toUpperCase();
  const [path = ''] = rest;
  if (/^https?:/.test(path)) return 'write the path alone, without scheme and host';
  if (first.startsWith('/')) return `put the method in front: GET ${first}`;
  if (!METHODS.includes(method)) {
    return didYouMean(method, METHODS) ?? `the methods are ${METHODS.join(', ')}; each has an entry of its own`;
  }
  if (path === '') return `put the path behind the method: ${method} /customers`;
  return rest.length === 1 ? `write ${method} ${path.startsWith('/') ? '' : '/'}${path}` : 'a path has no spaces';
}

function networkHint(text: string): string {
  return `write ${networkFault(text)?.instead ?? 'the block as IPv4'}`;
}

function numberHint(text: string): string | undefined {
  if (/^[-+]?\d+(\.\d+)?$/.test(text)) return `write it without quotes: ${Number(text)}`;
  const digits = text.replaceAll(/[_' ]|[,.](?=\d{3}(\D|$))/g, '');
  return /^\d+$/.test(digits) ? `write ${digits}` : undefined;
}

function booleanHint(found: unknown): string | undefined {
  const word = String(found).toLowerCase();
  if (word === 'true' || word === 'false') return `write it without quotes: ${word}`;
  if (found === 0 || found === 1) return `write ${found === 1}`;
  return Object.hasOwn(BOOLEAN_WORDS, word) ? `write ${BOOLEAN_WORDS[word]}` : undefined;
}

function basePathHint(text: string): string {
  if (/^https?:/.test(text)) return 'write the path only; the host is set in `api.publicUrl`';
  const parts = text.toLowerCase().split('/').filter(Boolean);
  if (parts.length === 0) return 'it has at least one part, the version: /v1';
  const path = `/${parts.join('/')}`;
  return BASE_PATH_PATTERN.test(path) ? `write ${path}` : 'letters, digits, . _ and -; no parameters';
}

function durationHint(text: string, unit: 's' | 'd'): string {
  if (/^\d+$/.test(text)) return `write the unit behind the number: ${text}${unit}`;
  const example = unit === 'd' ? '400d' : '10s';
  return withUnit(text, DURATION_UNITS, `write a number and its unit, with nothing between them: ${example}`);
}

/** Returns a hint such as `write 10s` for `10 seconds`. Returns the fallback if the unit is unknown. */
function withUnit(text: string, units: readonly (readonly [RegExp, string])[], fallback: string): string {
  const [, amount = '', word = ''] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*$/i.exec(text) ?? [];
  const unit = units.find(([pattern]) => pattern.test(word.toLowerCase()))?.[1];
  return unit === undefined ? fallback : `write ${amount}${unit}`;
}
