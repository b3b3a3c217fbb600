/** What the MCP server is told by the configuration, and by the reference. */
import type { RunningConfig } from '../config/running-config.js';
import { RunningTools } from '../config/running-tools.js';
import type { McpSettings } from '../mcp/settings.js';
import { ERRORS, type ErrorCode } from '../problems/errors.js';
import { ERROR_GUIDANCE } from '../reference/error-guidance.js';
import type { ReferenceDocuments } from '../reference/reference-documents.js';
import type { McpSources } from './open-mcp.js';

/** They follow the configuration, and what the reference hands out. */
export function mcpSources(config: RunningConfig, documents: ReferenceDocuments): McpSources {
  const tools = new RunningTools(config);
  let settings = settingsOf(config, tools);
  config.onChange(() => () => void queueMicrotask(() => (settings = settingsOf(config, tools))));
  let errors: string | undefined;
  return {
    settings: () => settings,
    tools,
    reference: { openApi: () => documents.openApi(), errors: () => (errors ??= errorCatalogue()) },
  };
}

/** Without a tool there is no server. */
function settingsOf({ current: { file } }: RunningConfig, tools: Pick<RunningTools, 'current'>): McpSettings {
  const { mcp, api } = file;
  return {
    isOn: mcp.enabled && tools.current.tools.length > 0,
    name: mcp.name ?? api.title,
    instructions: mcp.instructions,
    allowedOrigins: mcp.allowedOrigins,
    allowedHosts: api.publicUrl === undefined ? [] : [new URL(api.publicUrl).host],
    mostResponseBytes: mcp.maxResponseBytes,
  };
}

/** Every code with what it means and what to do about it: as `docs/errors.md` has it. */
function errorCatalogue(): string {
  const entries = (Object.keys(ERRORS) as ErrorCode[]).map((code) => {
    const { status, title } = ERRORS[code];
    return { code, status, title, ...ERROR_GUIDANCE[code] };
  });
  return JSON.stringify({ errors: entries });
}
