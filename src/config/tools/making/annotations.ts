/** Derives the annotations that tell clients about the effects of a tool (MCP, ToolAnnotations). */
import type { ToolAnnotations } from '../../model/described-tool.js';
import type { ToolSettings } from '../../model/mcp-schema.js';
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'QUERY']);

/**
 * Derives annotations from the HTTP method (RFC 9110 section 9.2), unless the settings define them. A POST that creates
 * a resource (201) is not destructive. `openWorldHint` is false, because operations affect only data of the account.
 */
export function annotationsOf(method: string, openapi: JsonObject, settings: ToolSettings): ToolAnnotations {
  const readOnlyHint = settings.readOnly ?? SAFE_METHODS.has(method);
  const responses = isObject(openapi['responses']) ? openapi['responses'] : {};
  const creates = method === 'POST' && responses['201'] !== undefined;
  return {
    readOnlyHint,
    destructiveHint: settings.destructive ?? !(readOnlyHint || creates),
    idempotentHint: settings.idempotent ?? (readOnlyHint || method === 'PUT' || method === 'DELETE'),
    openWorldHint: false,
  };
}
