/** The header fields that the protocol looks at, of a request however it was read. */
import type { ClientMessage } from '../../http1/client/client-response.js';

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
export function mcpFieldsOf({ rawHeaders }: Pick<ClientMessage, 'rawHeaders'>): McpFields {
  const fields = new McpFields();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const said = rawHeaders[index] ?? '';
    const name = BY_LENGTH[said.length];
    if (name === undefined || said.toLowerCase() !== name) continue;
    const value = (rawHeaders[index + 1] ?? '').trim();
    const before = fields[name];
    fields[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return fields;
}
