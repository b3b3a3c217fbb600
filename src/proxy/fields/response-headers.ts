/**
 * Selects the fields of a backend's response for the client: end-to-end fields, except fields that only the gateway
 * sets.
 */
import {
  fieldsOfLines,
  isLengthLine,
  linesOf,
  listTokens,
  trimSpaces,
  withoutLeadingZeros,
} from '../../http/grammar/fields.js';
import { QUOTA_FIELDS } from '../../quota/model/headers.js';
import { HOP_BY_HOP_FIELDS, IDENTITY_FIELDS } from './connection-fields.js';
import { publicField, type ReferenceMap } from '../targets/public-references.js';

/** Hop-by-hop fields (RFC 9110 section 7.6.1), and fields that only the gateway sets. */
export const NEVER_PASSED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_FIELDS,
  ...IDENTITY_FIELDS,
  // HTTP/2 responses must not contain this connection-specific field.
  'http2-settings',
  ...QUOTA_FIELDS,
]);

/** CORS fields. If the gateway handles CORS itself, it drops these fields of the backend. */
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
 * Fields that are kept even if `Connection` names them. Without them, clients would frame or interpret the body
 * differently, or caches would store it incorrectly.
 */
const NEVER_REMOVED: ReadonlySet<string> = new Set([
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

/** Field line that adds the gateway to `Via`. Repeated fields form one list, in order (RFC 9110 section 5.3). */
const VIA_LINE = 'Via: 1.1 trailgate\r\n';

/** Rule is the treatment of a backend's field. */
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

/** Cache of rules by field name, as spelled by backends. Backends use few spellings, so most look-ups succeed. */
const rules = new Map<string, Rule>();
const MAX_RULES = 2_000;

/** Options for `passedFields`. */
export interface PassingRules {
  /** Whether the gateway sets the CORS fields itself. */
  readonly ownCors?: boolean;
  /** Maps references to the target to public references; undefined leaves all references unchanged. */
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
 * Returns the fields of a backend's response for the client.
 * @param lines valid field lines, each with its CRLF.
 */
export function passedFields(lines: string, { ownCors = false, references }: PassingRules = {}): PassedFields {
  let passed = '';
  /** Start of the text that has not been copied yet. Adjacent unchanged lines are copied together. */
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
      if (rule === Rule.Length) passed += `${name}: ${withoutLeadingZeros(trimSpaces(lines, colon + 1, next - 2))}\r\n`;
      else if (rule === Rule.Connection) named = addNames(named, trimSpaces(lines, colon + 1, next - 2));
      else if (rule === Rule.Reference && references !== undefined) {
        passed += `${name}: ${publicField(name.toLowerCase(), trimSpaces(lines, colon + 1, next - 2), references)}\r\n`;
      }
    }
  }
  passed = from === 0 ? lines : passed + lines.slice(from);
  // RFC 9110 section 7.6.3: extend an existing `Via`. A gateway need not add the field to responses.
  if (hasVia) passed += VIA_LINE;
  return { lines: named === undefined ? passed : withoutNamed(passed, named), hasCacheControl, hasDate };
}

function classifyField(name: string): Rule {
  const rule = ruleOf(name.toLowerCase());
  if (rules.size < MAX_RULES) rules.set(name, rule);
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

/** Appends the names in a `Connection` field to the names found before. */
function addNames(named: string[] | undefined, value: string): string[] | undefined {
  if (value === 'keep-alive' || value === 'close') return named;
  return [...(named ?? []), ...listTokens(value)];
}

/** Removes the fields that the backend's `Connection` names, except `NEVER_REMOVED`. */
function withoutNamed(lines: string, named: readonly string[]): string {
  const fields = fieldsOfLines(lines);
  return linesOf(
    fields.filter((_, index) => {
      const lower = (fields[index - (index % 2)] ?? '').toLowerCase();
      return NEVER_REMOVED.has(lower) || !named.includes(lower);
    }),
  );
}
