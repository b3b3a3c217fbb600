/**
 * Selects the fields of a backend's response for the client: end-to-end fields, except those that only the gateway
 * sets.
 */
import {
  fieldsOfLines,
  isLengthLine,
  linesOf,
  listTokens,
  trimmed,
  withoutLeadingZeros,
} from '../../http/grammar/fields.js';
import { QUOTA_FIELDS } from '../../quota/model/headers.js';
import { HOP_BY_HOP_FIELDS, IDENTITY_FIELDS } from './connection-fields.js';
import { publicField, type ReferenceMap } from '../targets/public-references.js';

/** Hop-by-hop fields (RFC 9110 section 7.6.1) and the gateway's own. */
export const NEVER_PASSED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_FIELDS,
  ...IDENTITY_FIELDS,
  // Also a connection field. HTTP/2 refuses to send it.
  'http2-settings',
  ...QUOTA_FIELDS,
]);

/** CORS fields. The backend's are dropped if the gateway handles CORS itself. */
const CORS_FIELDS: ReadonlySet<string> = new Set([
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-private-network',
  'access-control-expose-headers',
  'access-control-max-age',
]);

/**
 * Fields that `Connection` cannot remove. Without them the body would be framed or interpreted differently, or a cache
 * would store it wrongly.
 */
const NEVER_TAKEN_AWAY: ReadonlySet<string> = new Set([
  'age',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'expires',
  'vary',
  'via',
]);

/** Repeated `Via` fields form one list, in order (RFC 9110 section 5.3). */
const VIA_LINE = 'Via: 1.1 trailgate\r\n';

const enum Rule {
  Pass,
  Drop,
  Cors,
  Connection,
  CacheControl,
  Date,
  Reference,
  Length,
  Via,
}

/** Cache of rules by exact spelling. Backends use few spellings, so most responses find all of their names here. */
const rules = new Map<string, Rule>();
const MOST_RULES = 2_000;

/** Options for `passedFields`. */
export interface PassingRules {
  /** Whether the gateway sets the CORS fields itself. */
  readonly ownCors?: boolean;
  /** Maps references to the target to public ones; undefined leaves them unchanged. */
  readonly references?: ReferenceMap | undefined;
}

/** The fields of a response that are passed to the client. */
export interface PassedFields {
  /** Field lines, each with its CRLF. */
  readonly lines: string;
  readonly hasCacheControl: boolean;
  readonly hasDate: boolean;
}

/**
 * Returns the fields of a backend's response for the client. Unchanged lines are copied as one piece of text.
 * @param lines valid field lines, each with its CRLF.
 */
export function passedFields(lines: string, { ownCors = false, references }: PassingRules = {}): PassedFields {
  let passed = '';
  /** Start of the text that has not been copied yet. */
  let from = 0;
  let named: string[] | undefined;
  let hasCacheControl = false;
  let hasDate = false;
  let hasVia = false;
  for (let at = 0, next = 0; at < lines.length; at = next) {
    next = lines.indexOf('\n', at) + 1;
    const colon = lines.indexOf(':', at);
    const name = lines.slice(at, colon);
    const rule = rules.get(name) ?? classifyField(name);
    if (rule === Rule.Pass || (rule === Rule.Cors && !ownCors) || (rule === Rule.Reference && references === undefined))
      continue;
    if (rule === Rule.CacheControl) hasCacheControl = true;
    else if (rule === Rule.Date) hasDate = true;
    else if (rule === Rule.Via) hasVia = true;
    else if (rule !== Rule.Length || !isLengthLine(lines, colon + 1, next - 2)) {
      passed += lines.slice(from, at);
      from = next;
      if (rule === Rule.Length) passed += `${name}: ${withoutLeadingZeros(trimmed(lines, colon + 1, next - 2))}\r\n`;
      else if (rule === Rule.Connection) named = withOptions(named, trimmed(lines, colon + 1, next - 2));
      else if (rule === Rule.Reference && references !== undefined) {
        passed += `${name}: ${publicField(name.toLowerCase(), trimmed(lines, colon + 1, next - 2), references)}\r\n`;
      }
    }
  }
  passed = from === 0 ? lines : passed + lines.slice(from);
  // RFC 9110 section 7.6.3: append to an existing `Via`. A gateway need not add one to responses.
  if (hasVia) passed += VIA_LINE;
  return { lines: named === undefined ? passed : withoutNamed(passed, named), hasCacheControl, hasDate };
}

function classifyField(name: string): Rule {
  const rule = ruleOf(name.toLowerCase());
  if (rules.size < MOST_RULES) rules.set(name, rule);
  return rule;
}

function ruleOf(lower: string): Rule {
  if (lower === 'connection') return Rule.Connection;
  if (NEVER_PASSED.has(lower)) return Rule.Drop;
  if (CORS_FIELDS.has(lower)) return Rule.Cors;
  if (lower === 'cache-control') return Rule.CacheControl;
  if (lower === 'date') return Rule.Date;
  if (lower === 'content-length') return Rule.Length;
  if (lower === 'via') return Rule.Via;
  const isReference = lower === 'location' || lower === 'content-location' || lower === 'link';
  return isReference ? Rule.Reference : Rule.Pass;
}

/** Appends the names in a `Connection` field to those found before. */
function withOptions(named: string[] | undefined, value: string): string[] | undefined {
  if (value === 'keep-alive' || value === 'close') return named;
  return [...(named ?? []), ...listTokens(value)];
}

/** Removes the fields that the backend's `Connection` names, except those in `NEVER_TAKEN_AWAY`. */
function withoutNamed(lines: string, named: readonly string[]): string {
  const fields = fieldsOfLines(lines);
  return linesOf(
    fields.filter((_, index) => {
      const lower = (fields[index - (index % 2)] ?? '').toLowerCase();
      return NEVER_TAKEN_AWAY.has(lower) || !named.includes(lower);
    }),
  );
}
