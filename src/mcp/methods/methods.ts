/** The methods of the protocol that are served. What is not here is not found: completions, whatever has state. */
import type { Method } from '../method-call.js';
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

/** By their names. */
export const METHODS_BY_NAME: ReadonlyMap<string, Method> = new Map(METHODS.map((method) => [method.name, method]));
