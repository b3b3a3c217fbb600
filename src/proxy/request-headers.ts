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
  // A second length, where servers take an underscore for a dash.
  'content_length',
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
 * Field lines for the backend, each with its CRLF. The client's are not looked at byte by byte: Node's strict parser has refused
 * whatever could end a line.
 * @param rawHeaders as Node received them.
 */
export function backendRequestHeaders(rawHeaders: readonly string[], identity: ForwardedIdentity): string {
  return fieldLines(rawHeaders, identity, false);
}

/** @param looksForSecrets whether a field of the client with a key in its value is left out. */
function fieldLines(rawHeaders: readonly string[], identity: ForwardedIdentity, looksForSecrets: boolean): string {
  let out = '';
  let via = '';
  let named: Set<string> | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    const verdict = verdicts.get(name) ?? judge(name);
    if (looksForSecrets && holdsSecret(value)) continue;
    if (verdict === Verdict.Forward) {
      if (named === undefined || isKept(name, named)) out += `${name}: ${value}\r\n`;
    } else if (verdict === Verdict.Via) {
      via += `${value}, `;
    } else if (verdict === Verdict.TraceState) {
      const isWanted = named === undefined || isKept(name, named);
      if (isWanted && continuesTrace(rawHeaders, identity.traceparent)) out += `${name}: ${value}\r\n`;
    } else if (verdict === Verdict.Connection && named === undefined && !isUsualConnection(value)) {
      // Begins anew, without the fields that it names.
      named = namedFields(rawHeaders);
      out = '';
      via = '';
      index = -2;
    }
  }
  // One look at all that is the client's; the rare one that finds something looks at each. A look puts the pieces of a text together
  // in one copy: of the whole it would be made here, and once more when the head is written.
  if (!looksForSecrets && (holdsSecret(out) || holdsSecret(via))) return fieldLines(rawHeaders, identity, true);
  return `${out}${identityLines(identity)}Via: ${via}${identity.httpVersion} trailgate\r\n`;
}

function identityLines(identity: ForwardedIdentity): string {
  const { clientAddress, host, scheme } = identity;
  const node = clientAddress.includes(':') ? `"[${clientAddress}]"` : clientAddress;
  return (
    `X-Account-Id: ${identity.accountId}\r\nX-Api-Key-Id: ${identity.keyId}\r\nX-Api-Scopes: ${identity.scopes}\r\n` +
    `X-Request-Id: ${identity.requestId}\r\ntraceparent: ${identity.traceparent}\r\n` +
    `Forwarded: for=${node};host="${host}";proto=${scheme}\r\nX-Forwarded-For: ${clientAddress}\r\n` +
    `X-Forwarded-Host: ${host}\r\nX-Forwarded-Proto: ${scheme}\r\nX-Forwarded-Prefix: ${identity.prefix}\r\n`
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

/** What the `Connection` fields name, in lower case. */
function namedFields(rawHeaders: readonly string[]): Set<string> {
  const named = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if ((rawHeaders[index] ?? '').toLowerCase() !== 'connection') continue;
    for (const token of (rawHeaders[index + 1] ?? '').split(',')) named.add(token.trim().toLowerCase());
  }
  return named;
}

/** Whether `Connection` lets a field pass; what frames the message passes. */
function isKept(name: string, named: ReadonlySet<string>): boolean {
  const lower = name.toLowerCase();
  return lower === 'content-length' || !named.has(lower);
}
