/**
 * READ FIRST: the MCP server, from its door inwards.
 *
 * - The gateway's entrance (`gateway/listener/entrance.ts`) gives a request its name and refuses what is framed badly.
 * - `mcp-request.ts` leads it: host and page, key, body, message, era, method.
 * - `methods/` has a file for each method; `tools/operation-call.ts` makes the request of the API that a call stands
 *   for, by `admission/doors/inner-call.ts`: that goes the way of every other one.
 */
import type { Door, OpenDoor } from '../../admission/doors/door.js';
import type { DoorRequest } from '../../admission/doors/door-request.js';
import type { McpParts } from '../mcp-parts.js';
import type { ServedMethods } from '../method-call.js';
import { SERVED_METHODS } from '../methods/methods.js';
import { FreeCalls } from './free-calls.js';
import { McpRequest } from './mcp-request.js';

/** Where the server is, on the public listener. */
export const MCP_PATH = '/mcp';

/** Opens the door on its parts. @param methods that are served; those of the program unless said. */
export function mcpDoor(parts: McpParts, methods: ServedMethods = SERVED_METHODS): OpenDoor {
  return (host): Door => {
    const opened = { ...parts, host };
    const freeCalls = new FreeCalls(parts.quotas);
    return {
      takes: (path) => path === MCP_PATH && parts.settings().isOn,
      serve: (request: DoorRequest) => new McpRequest(opened, methods, request, freeCalls).begin(),
    };
  };
}
