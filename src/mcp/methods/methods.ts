/** The methods of the protocol that are served. What is not here is not found: completions, whatever has state. */
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

/** What the program serves. Its server asks nothing of its clients. */
export const SERVED_METHODS: ServedMethods = { byName: new Map(METHODS.map((method) => [method.name, method])) };
