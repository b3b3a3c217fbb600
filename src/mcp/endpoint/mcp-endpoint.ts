/**
 * READ FIRST: the MCP server, which offers the operations of the API to AI assistants as tools.
 * - The gateway (`gateway/listener/entrance.ts`) assigns a request ID and rejects requests with malformed framing.
 * - `mcp-request.ts` processes a request: host and origin, key, body, message, era, method.
 * - `methods/` has the methods of the protocol. `tools/operation-call.ts` turns a tool call into an API request
 *   (`admission/mounted/inner-call.ts`), which passes the normal request path.
 */
import type { MountedEndpoint, MountEndpoint } from '../../admission/mounted/mounted-endpoint.js';
import type { EndpointRequest } from '../../admission/mounted/endpoint-request.js';
import type { McpParts } from '../mcp-parts.js';
import type { ServedMethods } from '../method-call.js';
import { SERVED_METHODS } from '../methods/methods.js';
import { FreeCalls } from './free-calls.js';
import { McpRequest } from './mcp-request.js';

/** Path of the MCP server on the public listener. */
export const MCP_PATH = '/mcp';

/**
 * Creates the function that mounts the MCP server on a gateway.
 * @param methods methods to serve; tests may pass more
 */
export function mcpEndpoint(parts: McpParts, methods: ServedMethods = SERVED_METHODS): MountEndpoint {
  return (host): MountedEndpoint => {
    const opened = { ...parts, host };
    const freeCalls = new FreeCalls(parts.quotas);
    return {
      serves: (path) => path === MCP_PATH && parts.settings().isOn,
      serve: (request: EndpointRequest) => new McpRequest(opened, methods, request, freeCalls).begin(),
    };
  };
}
