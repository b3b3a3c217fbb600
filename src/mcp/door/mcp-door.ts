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
import { FreeCalls } from './free-calls.js';
import { McpRequest } from './mcp-request.js';

/** Where the server is, on the public listener. */
export const MCP_PATH = '/mcp';

/** Opens the door on its parts. */
export function mcpDoor(parts: McpParts): OpenDoor {
  return (host): Door => {
    const opened = { ...parts, host };
    const freeCalls = new FreeCalls(parts.quotas);
    return {
      takes: (path) => path === MCP_PATH && parts.settings().isOn,
      serve: (request: DoorRequest) => new McpRequest(opened, request, freeCalls).begin(),
    };
  };
}
