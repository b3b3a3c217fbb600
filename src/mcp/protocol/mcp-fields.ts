/** Reads the header fields that MCP uses, from any kind of request message. */
import { linesOfMessage } from '../../http/client/plain-request.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { trimSpaces } from '../../http/grammar/fields.js';

/**
 * McpFields holds the values of the header fields. Undefined if a field is missing. The values of a repeated field are
 * joined, and then match no value in a body.
 */
export class McpFields {
  accept: string | undefined = undefined;
  'content-type': string | undefined = undefined;
  'mcp-method': string | undefined = undefined;
  'mcp-name': string | undefined = undefined;
  'mcp-protocol-version': string | undefined = undefined;
}

/** KnownName is a field name with its most recent spelling. Most clients always use the same spelling. */
interface KnownName {
  readonly field: keyof McpFields;
  spelled: string;
}

/** Field names by length. All of them have different lengths. */
const KNOWN: (KnownName | undefined)[] = [];
for (const field of Object.keys(new McpFields()) as (keyof McpFields)[])
  KNOWN[field.length] = { field, spelled: field };

/** Reads the MCP fields of a request. */
export function mcpFieldsOf(message: ClientMessage): McpFields {
  const fields = new McpFields();
  // The parser has validated the format of the lines: name, colon, value, CRLF.
  const lines = linesOfMessage(message);
  for (let at = 0, next = 0; at < lines.length; at = next) {
    const colon = lines.indexOf(':', at);
    next = lines.indexOf('\n', colon) + 1;
    const known = KNOWN[colon - at];
    if (known === undefined || !isAt(lines, at, colon, known)) continue;
    const { field } = known;
    const value = trimSpaces(lines, colon + 1, next - 2);
    const before = fields[field];
    fields[field] = before === undefined ? value : `${before}, ${value}`;
  }
  return fields;
}

/** Reports whether the field name between `at` and `colon` is the known name. Stores its spelling. */
function isAt(lines: string, at: number, colon: number, known: KnownName): boolean {
  if (lines.startsWith(known.spelled, at)) return true;
  const name = lines.slice(at, colon);
  if (name.toLowerCase() !== known.field) return false;
  // Copy the string, because a slice would keep all the field lines in memory.
  known.spelled = Buffer.from(name).toString();
  return true;
}
