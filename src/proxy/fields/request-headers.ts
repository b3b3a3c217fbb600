/**
 * What a backend receives: the client's end-to-end fields, and our own on top. Hop-by-hop fields and
 * every name that we set ourselves are taken out first, so that no client can speak in our name (RFC
 * 9110 section 7.6, design section 2.7).
 */
import { holdsSecret } from '../../keys/api-key-format.js';
import {
  fieldValue,
  fieldsOfLines,
  isLengthLine,
  linesOf,
  listTokens,
  trimmed,
  withoutLeadingZeros,
} from '../../http/grammar/fields.js';
import { isTrustedName } from './trusted-names.js';

const SPACE = 0x20;
const TAB = 0x09;

const enum Verdict {
  Forward,
  Drop,
  Connection,
  Via,
  TraceState,
  Length,
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
  /** Continues the client's trace; empty: the client sent no valid one. */
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
 * Field lines for the backend, each with its CRLF. The client's are not looked at byte by byte: a strict parser has
 * refused whatever could end a line. What passes as it is, is passed as one piece of text and not field by field.
 * @param lines as they were received, each with its CRLF.
 */
export function backendRequestHeaders(lines: string, identity: ForwardedIdentity): string {
  return forwarded(lines, identity, false);
}

/** @param isClean whether fields with a key in their values have been taken out. */
function forwarded(lines: string, identity: ForwardedIdentity, isClean: boolean): string {
  let out = '';
  let via = '';
  /** Where that begins which has not been passed yet. */
  let from = 0;
  for (let at = 0, next = 0; at < lines.length; at = next) {
    next = lines.indexOf('\n', at) + 1;
    const colon = lines.indexOf(':', at);
    const name = lines.slice(at, colon);
    const verdict = verdicts.get(name) ?? judge(name);
    if (verdict === Verdict.Forward && isTidy(lines, colon + 1, next - 2)) continue;
    if (verdict === Verdict.Length && isLengthLine(lines, colon + 1, next - 2)) continue;
    const value = trimmed(lines, colon + 1, next - 2);
    if (verdict === Verdict.Connection && !isUsualConnection(value))
      return forwarded(withoutNamed(lines), identity, isClean);
    out += lines.slice(from, at);
    from = next;
    if (verdict === Verdict.Via) via += `${value}, `;
    else if (verdict === Verdict.Length) out += `${name}: ${withoutLeadingZeros(value)}\r\n`;
    else if (verdict === Verdict.Forward || (verdict === Verdict.TraceState && identity.traceparent !== '')) {
      out += `${name}: ${value}\r\n`;
    }
  }
  out = from === 0 ? lines : out + lines.slice(from);
  // One look at all that is the client's; the rare one that finds something looks at each. A look puts the pieces of a
  // text together in one copy: of the whole it would be made here, and once more when the head is written.
  if (!isClean && (holdsSecret(out) || holdsSecret(via))) return forwarded(withoutSecrets(lines), identity, true);
  return `${out}${identityLines(identity)}Via: ${via}${identity.httpVersion} trailgate\r\n`;
}

/** One space in front of the value and none behind it: as everybody writes it, and as it may be passed on. */
function isTidy(lines: string, from: number, to: number): boolean {
  if (to - from < 2 || lines.charCodeAt(from) !== SPACE) return false;
  const [first, last] = [lines.charCodeAt(from + 1), lines.charCodeAt(to - 1)];
  return first !== SPACE && first !== TAB && last !== SPACE && last !== TAB;
}

/** Without the fields that `Connection` names; what frames the message passes, and who has passed it on. */
function withoutNamed(lines: string): string {
  const fields = fieldsOfLines(lines);
  const named = namedFields(fields);
  named.add('connection');
  return linesWhere(fields, (lower) => lower === 'content-length' || lower === 'via' || !named.has(lower));
}

function withoutSecrets(lines: string): string {
  return linesWhere(fieldsOfLines(lines), (_lower, value) => !holdsSecret(value));
}

function linesWhere(fields: readonly string[], isKept: (lower: string, value: string) => boolean): string {
  return linesOf(
    fields.filter((_, index) => {
      const nameAt = index - (index % 2);
      return isKept((fields[nameAt] ?? '').toLowerCase(), fields[nameAt + 1] ?? '');
    }),
  );
}

function identityLines(identity: ForwardedIdentity): string {
  const { clientAddress, host, scheme, traceparent } = identity;
  const trace = traceparent === '' ? '' : `traceparent: ${traceparent}\r\n`;
  const node = clientAddress.includes(':') ? `"[${clientAddress}]"` : clientAddress;
  return (
    `X-Account-Id: ${identity.accountId}\r\nX-Api-Key-Id: ${identity.keyId}\r\nX-Api-Scopes: ${identity.scopes}\r\n` +
    `X-Request-Id: ${identity.requestId}\r\n${trace}` +
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
  else if (lower === 'content-length') verdict = Verdict.Length;
  else if (isTrustedName(name)) verdict = Verdict.Drop;
  if (verdicts.size < MOST_VERDICTS) verdicts.set(name, verdict);
  return verdict;
}

function isUsualConnection(value: string): boolean {
  return value === 'keep-alive' || value === 'close' || value === 'Keep-Alive';
}

/** What the `Connection` fields name, in lower case. */
function namedFields(fields: readonly string[]): Set<string> {
  return new Set(listTokens(fieldValue(fields, 'connection') ?? ''));
}
