/** The header fields that the protocol looks at, of a request however it was read. */
import { linesOfMessage } from '../../http1/client/plain-request.js';
import type { ClientMessage } from '../../http1/client/client-response.js';
import { trimmed } from '../../http1/grammar/fields.js';

/** McpFields are their values. Several of one name are one that nothing in a body is equal to. */
export class McpFields {
  accept: string | undefined = undefined;
  'content-type': string | undefined = undefined;
  'mcp-method': string | undefined = undefined;
  'mcp-name': string | undefined = undefined;
  'mcp-protocol-version': string | undefined = undefined;
}

const NAMES = Object.keys(new McpFields()) as readonly (keyof McpFields)[];
/** By its length a name is one of them, or none. */
const BY_LENGTH: (keyof McpFields | undefined)[] = [];
for (const name of NAMES) BY_LENGTH[name.length] = name;

/** Those of a request. */
export function mcpFieldsOf(message: ClientMessage): McpFields {
  const fields = new McpFields();
  // Whoever has read them has seen to their form: each line a name, a colon, a value, CRLF.
  const lines = linesOfMessage(message);
  for (let at = 0, next = 0; at < lines.length; at = next) {
    const colon = lines.indexOf(':', at);
    next = lines.indexOf('\n', colon) + 1;
    const name = BY_LENGTH[colon - at];
    if (name === undefined || lines.slice(at, colon).toLowerCase() !== name) continue;
    const value = trimmed(lines, colon + 1, next - 2);
    const before = fields[name];
    fields[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return fields;
}
