/** What a client receives of a backend's fields: the end-to-end ones, but for those that only we may set. */
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

/** Hop-by-hop fields (RFC 9110 section 7.6.1) and our own. */
export const NEVER_PASSED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_FIELDS,
  ...IDENTITY_FIELDS,
  // Of a connection too, and HTTP/2 refuses to send it.
  'http2-settings',
  ...QUOTA_FIELDS,
]);

/** Where the gateway answers for cross-origin requests, what a backend says of them would contradict it. */
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
 * These are for all who get the response, and a `Connection` that names them does not take them away: without them the
 * body would end elsewhere or be taken for something else, or a cache would keep what it must not, or for too long.
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

/** Several of a name are one list, in their order. */
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

/** Rules by name as it was spelled: backends spell a handful of names, so most responses find all of theirs here. */
const rules = new Map<string, Rule>();
const MOST_RULES = 2_000;

/** What is done with a backend's fields. */
export interface PassingRules {
  /** Whether the gateway writes the fields of CORS itself. */
  readonly ownCors?: boolean;
  /** How references to the target become the public's; undefined: they stay. */
  readonly references?: ReferenceMap | undefined;
}

/** What may be passed on of a backend's fields. */
export interface PassedFields {
  /** Each with its CRLF, as it was sent. */
  readonly lines: string;
  readonly hasCacheControl: boolean;
  readonly hasDate: boolean;
}

/**
 * The fields of a backend's response that a client gets. What passes as it is, is passed as one
 * piece of text and not field by field.
 * @param lines each with its CRLF, and fields to the letter.
 */
export function passedFields(lines: string, { ownCors = false, references }: PassingRules = {}): PassedFields {
  let passed = '';
  /** Where that begins which has not been passed yet. */
  let from = 0;
  let named: string[] | undefined;
  let hasCacheControl = false;
  let hasDate = false;
  let hasVia = false;
  for (let at = 0, next = 0; at < lines.length; at = next) {
    next = lines.indexOf('\n', at) + 1;
    const colon = lines.indexOf(':', at);
    const name = lines.slice(at, colon);
    const rule = rules.get(name) ?? judge(name);
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
  // RFC 9110 section 7.6.3: who has passed it on before stays, and we stand behind them. Where
  // nobody has, a gateway need not say so.
  if (hasVia) passed += VIA_LINE;
  return { lines: named === undefined ? passed : withoutNamed(passed, named), hasCacheControl, hasDate };
}

function judge(name: string): Rule {
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

/** What a `Connection` names, behind what others of it have named. */
function withOptions(named: string[] | undefined, value: string): string[] | undefined {
  if (value === 'keep-alive' || value === 'close') return named;
  return [...(named ?? []), ...listTokens(value)];
}

/** Without the fields that the backend's `Connection` names, and may name. */
function withoutNamed(lines: string, named: readonly string[]): string {
  const fields = fieldsOfLines(lines);
  return linesOf(
    fields.filter((_, index) => {
      const lower = (fields[index - (index % 2)] ?? '').toLowerCase();
      return NEVER_TAKEN_AWAY.has(lower) || !named.includes(lower);
    }),
  );
}
