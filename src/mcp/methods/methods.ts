/**
 * Lists the supported methods of the Model Context Protocol. Completions and methods that need sessions are not
 * supported.
 */
import type { Method, ServedMethods } from '../method-call.js';
import { callTool } from './call-tool.js';
import { discover } from './discover.js';
import { initialize } from './initialize.js';
import { listResources, listResourceTemplates } from './list-resources.js';
import { listTools } from './list-tools.js';
import { listen } from './listen.js';
import { ping } from './ping.js';
import { getPrompt, listPrompts } from './prompts.js';
import { readResource } from './read-resource.js';

const METHODS: readonly Method[] = [
  discover,
  initialize,
  ping,
  listTools,
  callTool,
  listResources,
  listResourceTemplates,
  readResource,
  listPrompts,
  getPrompt,
  listen,
];

/** Methods that the MCP server supports. There is no `takeReply`, because the server sends no requests to clients. */
export const SERVED_METHODS: ServedMethods = { byName: new Map(METHODS.map((method) => [method.name, method])) };
