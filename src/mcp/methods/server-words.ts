/** Describes the MCP server to clients: capabilities, instructions, name and version. */
import { serverInfoText } from '../protocol/response-text.js';
import type { MethodCall } from '../method-call.js';
import type { McpSettings } from '../settings.js';

/**
 * Capabilities for modern clients, as JSON. `listChanged` needs `subscriptions/listen`, which legacy clients do not
 * have.
 */
const MODERN_CAPABILITIES = '{"tools":{"listChanged":true},"resources":{},"prompts":{}}';
const LEGACY_CAPABILITIES = '{"tools":{},"resources":{},"prompts":{}}';

const USUAL_INSTRUCTIONS =
  'Each tool is an operation of this API, called with the API key of this connection: calls count against its ' +
  'limits, and see only what it may see. A refusal says in its text what ran out or is missing, and how long to ' +
  'wait; get_usage says what is left and costs nothing. Long lists come in pages: ask for the next one with what ' +
  'the last one gave.';

/** Returns the capabilities and instructions as members of a result, in JSON without braces. */
export function serverMembers({ era, parts }: MethodCall): string {
  const { instructions = USUAL_INSTRUCTIONS } = parts.settings();
  const capabilities = era === 'modern' ? MODERN_CAPABILITIES : LEGACY_CAPABILITIES;
  return `"capabilities":${capabilities},"instructions":${JSON.stringify(instructions)}`;
}

const infos = new WeakMap<McpSettings, string>();

/** Returns the name and version of the server as JSON, cached per settings object. */
export function serverInfo({ parts }: Pick<MethodCall, 'parts'>): string {
  const settings = parts.settings();
  let info = infos.get(settings);
  if (info === undefined) infos.set(settings, (info = serverInfoText(settings.name, parts.version)));
  return info;
}
