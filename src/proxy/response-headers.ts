/** What a client receives of a backend's fields: the end-to-end ones, but for those that only we may set. */
import { QUOTA_FIELDS } from '../quotas/headers.js';
import { HOP_BY_HOP_FIELDS, IDENTITY_FIELDS } from './connection-fields.js';
import { publicField, type ReferenceMap } from './public-references.js';

/** Hop-by-hop fields (RFC 9110 section 7.6.1) and our own. */
export const NEVER_PASSED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_FIELDS,
  ...IDENTITY_FIELDS,
  'via',
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

const enum Rule {
  Pass,
  Drop,
  Cors,
  Connection,
  CacheControl,
  Reference,
}

/** Rules by name as it was spelled: backends spell a handful of names, so most answers find all of theirs here. */
const rules = new Map<string, Rule>();
const MOST_RULES = 2_000;

/** What is done with a backend's fields. */
export interface PassingRules {
  /** Whether the gateway writes the fields of CORS itself. */
  readonly ownCors?: boolean;
  /** How references to the target become the public's; undefined: they stay. */
  readonly references?: ReferenceMap | undefined;
}

/**
 * Appends the fields of a backend's answer to `out`; both flat: name, value, name, value. Returns whether `Cache-Control` is among
 * them.
 */
export function appendBackendResponseHeaders(
  out: string[],
  fields: readonly string[],
  { ownCors = false, references }: PassingRules = {},
): boolean {
  const begin = out.length;
  let named: string[] | undefined;
  let hasCacheControl = false;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    const value = fields[index + 1] ?? '';
    const rule = rules.get(name) ?? judge(name);
    if (rule === Rule.Drop || (rule === Rule.Cors && ownCors)) continue;
    if (rule === Rule.Connection) {
      if (value !== 'keep-alive' && value !== 'close') named = [...(named ?? []), ...options(value)];
      continue;
    }
    if (rule === Rule.CacheControl) hasCacheControl = true;
    const isMapped = rule === Rule.Reference && references !== undefined;
    out.push(name, isMapped ? publicField(name.toLowerCase(), value, references) : value);
  }
  if (named !== undefined) dropNamed(out, begin, named);
  return hasCacheControl;
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
  const isReference = lower === 'location' || lower === 'content-location' || lower === 'link';
  return isReference ? Rule.Reference : Rule.Pass;
}

function options(value: string): string[] {
  return value.split(',').map((token) => token.trim().toLowerCase());
}

/** Takes out the fields that the backend's `Connection` names. */
function dropNamed(out: string[], begin: number, named: readonly string[]): void {
  const kept = out.splice(begin);
  for (let index = 0; index < kept.length; index += 2) {
    const name = kept[index] ?? '';
    if (!named.includes(name.toLowerCase())) out.push(name, kept[index + 1] ?? '');
  }
}
