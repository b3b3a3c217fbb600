/**
 * Builds the header fields for a backend: the client's end-to-end fields, then the gateway's own fields. Removes the
 * client's hop-by-hop fields (RFC 9110 section 7.6), and its copies of fields that backends trust (`trusted-names.ts`).
 */
import { holdsSecret } from '../../keys/api-key-format.js';
import {
  fieldValue,
  fieldsOfLines,
  isLengthLine,
  linesOf,
  listTokens,
  trimSpaces,
  withoutLeadingZeros,
} from '../../http/grammar/fields.js';
import { isTrustedName } from './trusted-names.js';

const SPACE = 0x20;
const TAB = 0x09;

/** Rule is the treatment of a client's field. */
const enum Rule {
  Forward,
  Drop,
  Connection,
  Via,
  TraceState,
  Length,
}

/** Cache of rules by field name, as spelled by clients. Clients use few spellings, so most look-ups succeed. */
const rules = new Map<string, Rule>();
const MAX_RULES = 2_000;

/** The caller and request data from which the gateway's own fields are built. */
export interface ForwardedIdentity {
  readonly accountId: string;
  readonly keyId: string;
  readonly scopes: string;
  readonly requestId: string;
  /** `traceparent` that continues the client's trace; empty if the client sent no valid `traceparent`. */
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
 * Returns the field lines for the backend, each with its CRLF. Values are not checked again, because a strict parser
 * rejected every byte that could end a line.
 * @param lines the client's field lines, each with its CRLF.
 */
export function backendRequestHeaders(lines: string, identity: ForwardedIdentity): string {
  return buildLines(lines, identity, false);
}

/** Builds the field lines. @param isClean whether fields with an API key in their value were already removed. */
function buildLines(lines: string, identity: ForwardedIdentity, isClean: boolean): string {
  let out = '';
  let via = '';
  /** Start of the text that has not been copied yet. Adjacent unchanged lines are copied together. */
  let from = 0;
  for (let at = 0, next = 0; at < lines.length; at = next) {
    next = lines.indexOf('\n', at) + 1;
    const colon = lines.indexOf(':', at);
    const name = lines.slice(at, colon);
    const rule = rules.get(name) ?? classifyField(name);
    if (rule === Rule.Forward && isNormalized(lines, colon + 1, next - 2)) continue;
    if (rule === Rule.Length && isLengthLine(lines, colon + 1, next - 2)) continue;
    const value = trimSpaces(lines, colon + 1, next - 2);
    if (rule === Rule.Connection && !isUsualConnection(value))
      return buildLines(withoutNamed(lines), identity, isClean);
    out += lines.slice(from, at);
    from = next;
    if (rule === Rule.Via) via += `${value}, `;
    else if (rule === Rule.Length) out += `${name}: ${withoutLeadingZeros(value)}\r\n`;
    else if (rule === Rule.Forward || (rule === Rule.TraceState && identity.traceparent !== '')) {
      out += `${name}: ${value}\r\n`;
    }
  }
  out = from === 0 ? lines : out + lines.slice(from);
  // Search all client fields at once, and check single fields only if the search finds an API key. The search flattens
  // the rope string in one copy, so search before more lines are added.
  if (!isClean && (holdsSecret(out) || holdsSecret(via))) return buildLines(withoutSecrets(lines), identity, true);
  return `${out}${identityLines(identity)}Via: ${via}${identity.httpVersion} trailgate\r\n`;
}

/**
 * Reports whether a value has exactly one leading space and no trailing whitespace. The caller copies a line with this
 * value unchanged.
 */
function isNormalized(lines: string, from: number, to: number): boolean {
  if (to - from < 2 || lines.charCodeAt(from) !== SPACE) return false;
  const [first, last] = [lines.charCodeAt(from + 1), lines.charCodeAt(to - 1)];
  return first !== SPACE && first !== TAB && last !== SPACE && last !== TAB;
}

/** Removes `Connection` and the fields that it names. Keeps `Content-Length` and `Via` in any case. */
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

function classifyField(name: string): Rule {
  // A client sent an API key as a field name. Don't cache the name, because it would stay in memory.
  if (holdsSecret(name)) return Rule.Drop;
  const lower = name.toLowerCase();
  let rule = Rule.Forward;
  if (lower === 'connection') rule = Rule.Connection;
  else if (lower === 'via') rule = Rule.Via;
  else if (lower === 'tracestate') rule = Rule.TraceState;
  else if (lower === 'content-length') rule = Rule.Length;
  else if (isTrustedName(name)) rule = Rule.Drop;
  if (rules.size < MAX_RULES) rules.set(name, rule);
  return rule;
}

/** Reports whether a `Connection` value has a common spelling that names no other fields. */
function isUsualConnection(value: string): boolean {
  return value === 'keep-alive' || value === 'close' || value === 'Keep-Alive';
}

/** Returns the names listed in the `Connection` fields, in lower case. */
function namedFields(fields: readonly string[]): Set<string> {
  return new Set(listTokens(fieldValue(fields, 'connection') ?? ''));
}
