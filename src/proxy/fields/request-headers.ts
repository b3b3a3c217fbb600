/**
 * Builds the header fields for a backend: the client's end-to-end fields, then the gateway's own. Hop-by-hop fields and
 * all names that the gateway sets are removed first, so that clients cannot forge them (RFC 9110 section 7.6, design
 * section 2.7).
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

/** Cache of verdicts by exact spelling. Clients use few spellings, so most requests find all of their names here. */
const verdicts = new Map<string, Verdict>();
const MOST_VERDICTS = 2_000;

/** The caller and request data from which the gateway's own fields are built. */
export interface ForwardedIdentity {
  readonly accountId: string;
  readonly keyId: string;
  readonly scopes: string;
  readonly requestId: string;
  /** Continues the client's trace. Empty if the client sent no valid one. */
  readonly traceparent: string;
  readonly clientAddress: string;
  readonly scheme: 'http' | 'https';
  /** The client's `Host`, unchanged. */
  readonly host: string;
  /** Base path that was removed from the path, such as `/api/v1`. */
  readonly prefix: string;
  /** HTTP version of the client's request, such as `1.1`. */
  readonly httpVersion: string;
}

/**
 * Returns the field lines for the backend, each with its CRLF. Unchanged lines are copied as one piece of text. Values
 * are not checked again, because a strict parser has rejected whatever could end a line.
 * @param lines the client's field lines, each with its CRLF.
 */
export function backendRequestHeaders(lines: string, identity: ForwardedIdentity): string {
  return forwarded(lines, identity, false);
}

/** Builds the field lines. @param isClean whether fields with an API key in their values were removed already. */
function forwarded(lines: string, identity: ForwardedIdentity, isClean: boolean): string {
  let out = '';
  let via = '';
  /** Start of the text that has not been copied yet. */
  let from = 0;
  for (let at = 0, next = 0; at < lines.length; at = next) {
    next = lines.indexOf('\n', at) + 1;
    const colon = lines.indexOf(':', at);
    const name = lines.slice(at, colon);
    const verdict = verdicts.get(name) ?? classifyField(name);
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
  // One search over all client fields. Only if it finds a secret are the fields checked one by one. The search flattens
  // the rope string in one copy, so it must not include the lines added below.
  if (!isClean && (holdsSecret(out) || holdsSecret(via))) return forwarded(withoutSecrets(lines), identity, true);
  return `${out}${identityLines(identity)}Via: ${via}${identity.httpVersion} trailgate\r\n`;
}

/** Reports whether the value has exactly one leading space and no trailing one. Such lines are passed on unchanged. */
function isTidy(lines: string, from: number, to: number): boolean {
  if (to - from < 2 || lines.charCodeAt(from) !== SPACE) return false;
  const [first, last] = [lines.charCodeAt(from + 1), lines.charCodeAt(to - 1)];
  return first !== SPACE && first !== TAB && last !== SPACE && last !== TAB;
}

/** Removes the fields that `Connection` names, except those that frame the message or record its path. */
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

function classifyField(name: string): Verdict {
  // Someone pasted an API key as a field name. It must not enter the cache either.
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

/** Returns the names listed in the `Connection` fields, in lower case. */
function namedFields(fields: readonly string[]): Set<string> {
  return new Set(listTokens(fieldValue(fields, 'connection') ?? ''));
}
