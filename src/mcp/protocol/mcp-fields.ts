/** The header fields that the protocol looks at, of a request however it was read. */
import { linesOfMessage } from '../../http/client/plain-request.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { trimmed } from '../../http/grammar/fields.js';

/** McpFields are their values. Several of one name are one that nothing in a body is equal to. */
export class McpFields {
  accept: string | undefined = undefined;
  'content-type': string | undefined = undefined;
  'mcp-method': string | undefined = undefined;
  'mcp-name': string | undefined = undefined;
  'mcp-protocol-version': string | undefined = undefined;
}

/** A name that matters, and how the last client spelled it: nearly all spell it in one way. */
interface KnownName {
  readonly field: keyof McpFields;
  spelled: string;
}

/** By its length a name is one of them, or none. */
const KNOWN: (KnownName | undefined)[] = [];
for (const field of Object.keys(new McpFields()) as (keyof McpFields)[])
  KNOWN[field.length] = { field, spelled: field };

/** Those of a request. */
export function mcpFieldsOf(message: ClientMessage): McpFields {
  const fields = new McpFields();
  // Whoever has read them has seen to their form: each line a name, a colon, a value, CRLF.
  const lines = linesOfMessage(message);
  for (let at = 0, next = 0; at < lines.length; at = next) {
    const colon = lines.indexOf(':', at);
    next = lines.indexOf('\n', colon) + 1;
    const known = KNOWN[colon - at];
    if (known === undefined || !isAt(lines, at, colon, known)) continue;
    const { field } = known;
    const value = trimmed(lines, colon + 1, next - 2);
    const before = fields[field];
    fields[field] = before === undefined ? value : `${before}, ${value}`;
  }
  return fields;
}

/** Whether the name that stands there is this one. */
function isAt(lines: string, at: number, colon: number, known: KnownName): boolean {
  if (lines.startsWith(known.spelled, at)) return true;
  const name = lines.slice(at, colon);
  if (name.toLowerCase() !== known.field) return false;
  // A copy: a slice would keep all the lines.
  known.spelled = Buffer.from(name).toString();
  return true;
}
