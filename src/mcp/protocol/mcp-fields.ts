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

type FieldName = keyof McpFields;

const NAMES = Object.keys(new McpFields()) as readonly FieldName[];
/** By its length a name may be one of them. */
const LENGTHS: readonly boolean[] = lengthsOf(NAMES);
/** By how clients spell them: in a few ways each. */
const bySpelling = new Map<string, FieldName>(NAMES.map((name) => [name, name]));
const MOST_SPELLINGS = 100;

/** Those of a request. */
export function mcpFieldsOf(message: ClientMessage): McpFields {
  const fields = new McpFields();
  // Whoever has read them has seen to their form: each line a name, a colon, a value, CRLF.
  const lines = linesOfMessage(message);
  for (let at = 0, next = 0; at < lines.length; at = next) {
    const colon = lines.indexOf(':', at);
    next = lines.indexOf('\n', colon) + 1;
    const name = LENGTHS[colon - at] === true ? nameOf(lines.slice(at, colon)) : undefined;
    if (name === undefined) continue;
    const value = trimmed(lines, colon + 1, next - 2);
    const before = fields[name];
    fields[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return fields;
}

function nameOf(spelled: string): FieldName | undefined {
  const known = bySpelling.get(spelled);
  if (known !== undefined) return known;
  const lower = spelled.toLowerCase();
  const name = NAMES.find((each) => each === lower);
  // A copy: a slice would keep all that it is a slice of.
  if (name !== undefined && bySpelling.size < MOST_SPELLINGS) bySpelling.set(Buffer.from(spelled).toString(), name);
  return name;
}

function lengthsOf(names: readonly string[]): boolean[] {
  const lengths: boolean[] = [];
  for (const { length } of names) lengths[length] = true;
  return lengths;
}
