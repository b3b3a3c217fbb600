/**
 * What a backend receives: the client's end-to-end fields, and our own on top. Hop-by-hop fields and every name that we set
 * ourselves are taken out first, so that no client can speak in our name (RFC 9110 section 7.6, design section 2.7).
 */
import { holdsSecret } from '../keys/api-key-format.js';
import { HOP_BY_HOP_FIELDS, IDENTITY_FIELDS } from './connection-fields.js';

/** Fields that end at this hop, or that only we may set. Lower case. */
const NEVER_FORWARDED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_FIELDS,
  ...IDENTITY_FIELDS,
  'expect',
  'host',
  'http2-settings',
  'authorization',
  'forwarded',
  'via',
  'traceparent',
  'x-real-ip',
  // Where others look for the client's address: ours stands in Forwarded and X-Forwarded-For.
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
]);

/** With these a client asks frameworks for another path or method than the one whose scopes were checked. */
const OVERRIDES: ReadonlySet<string> = new Set([
  'x-original-url',
  'x-rewrite-url',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
]);

const NEVER_FORWARDED_PREFIXES = ['x-forwarded-', 'x-trailgate-'] as const;

const enum Verdict {
  Forward,
  Drop,
  Connection,
  Via,
  TraceState,
}

/** Verdicts by name as it was spelled; clients spell a handful of names, so most requests find all of theirs here. */
const verdicts = new Map<string, Verdict>();
const MOST_VERDICTS = 2_000;

/** Who is asking and how: what the fields that we set are made from. */
export interface ForwardedIdentity {
  readonly accountId: string;
  readonly keyId: string;
  readonly scopes: string;
  readonly requestId: string;
  readonly traceparent: string;
  readonly clientAddress: string;
  readonly scheme: 'http' | 'https';
  /** As the client sent it. */
  readonly host: string;
  /** `/api/v1`: what was taken off the path. */
  readonly prefix: string;
  /** `1.1`, of the request that came in. */
  readonly httpVersion: string;
}

/**
 * Fields for the backend, flat: name, value, name, value.
 * @param rawHeaders as Node received them.
 */
export function backendRequestHeaders(rawHeaders: readonly string[], identity: ForwardedIdentity): string[] {
  const out: string[] = [];
  let via = '';
  let named: Set<string> | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    const verdict = verdicts.get(name) ?? judge(name);
    if (holdsSecret(value)) continue;
    if (verdict === Verdict.Forward) {
      out.push(name, value);
    } else if (verdict === Verdict.Via) {
      via += `${value}, `;
    } else if (verdict === Verdict.TraceState) {
      if (continuesTrace(rawHeaders, identity.traceparent)) out.push(name, value);
    } else if (verdict === Verdict.Connection && !isUsualConnection(value)) {
      named = new Set([...(named ?? []), ...value.split(',').map((token) => token.trim().toLowerCase())]);
    }
  }
  const kept = named === undefined ? out : withoutNamed(out, named);
  appendIdentity(kept, identity, via);
  return kept;
}

function appendIdentity(out: string[], identity: ForwardedIdentity, via: string): void {
  const { clientAddress, host, scheme } = identity;
  const node = clientAddress.includes(':') ? `"[${clientAddress}]"` : clientAddress;
  out.push(
    'X-Account-Id',
    identity.accountId,
    'X-Api-Key-Id',
    identity.keyId,
    'X-Api-Scopes',
    identity.scopes,
    'X-Request-Id',
    identity.requestId,
    'traceparent',
    identity.traceparent,
    'Forwarded',
    `for=${node};host="${host}";proto=${scheme}`,
    'X-Forwarded-For',
    clientAddress,
    'X-Forwarded-Host',
    host,
    'X-Forwarded-Proto',
    scheme,
    'X-Forwarded-Prefix',
    identity.prefix,
    'Via',
    `${via}${identity.httpVersion} trailgate`,
  );
}

function judge(name: string): Verdict {
  // A key that was pasted in the place of a field's name; not to be remembered either.
  if (holdsSecret(name)) return Verdict.Drop;
  const lower = name.toLowerCase();
  let verdict = Verdict.Forward;
  if (lower === 'connection') verdict = Verdict.Connection;
  else if (lower === 'via') verdict = Verdict.Via;
  else if (lower === 'tracestate') verdict = Verdict.TraceState;
  else if (isOurs(lower) || OVERRIDES.has(lower)) verdict = Verdict.Drop;
  // Some servers take an underscore for a dash: `X_Account_Id` must not arrive where `X-Account-Id` may not.
  else if (lower.includes('_')) verdict = judge(lower.replaceAll('_', '-'));
  if (verdicts.size < MOST_VERDICTS) verdicts.set(name, verdict);
  return verdict;
}

function isOurs(lower: string): boolean {
  return NEVER_FORWARDED.has(lower) || NEVER_FORWARDED_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

/** Whether the trace is the client's. The state of a trace that begins anew must be deleted (W3C Trace Context, section 4.3). */
function continuesTrace(rawHeaders: readonly string[], traceparent: string): boolean {
  const traceId = traceparent.slice(3, 35);
  return rawHeaders.some(
    (name, at) => at % 2 === 0 && name.toLowerCase() === 'traceparent' && rawHeaders[at + 1]?.slice(3, 35) === traceId,
  );
}

function isUsualConnection(value: string): boolean {
  return value === 'keep-alive' || value === 'close' || value === 'Keep-Alive';
}

/** Drops the fields that `Connection` names, but for those that frame the message. */
function withoutNamed(headers: readonly string[], named: ReadonlySet<string>): string[] {
  const out: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? '';
    const lower = name.toLowerCase();
    if (!named.has(lower) || lower === 'content-length') out.push(name, headers[index + 1] ?? '');
  }
  return out;
}
