/** Opens the MCP server on the public listener. */
import type { MountEndpoint } from '../admission/mounted/mounted-endpoint.js';
import type { RunningConfig } from '../config/running-config.js';
import { RunningTools } from '../config/running-tools.js';
import type { Tool, ToolSet } from '../config/tools/tool.js';
import { mcpEndpoint } from '../mcp/endpoint/mcp-endpoint.js';
import type { McpReference } from '../mcp/mcp-parts.js';
import type { ServedMethods } from '../mcp/method-call.js';
import type { McpSettings } from '../mcp/settings.js';
import { Subscriptions } from '../mcp/subscriptions/subscriptions.js';
import { RareWarning } from '../platform/rare-warning.js';
import { VERSION } from '../platform/version.js';
import type { Admission, PublicUrl } from '../admission/open.js';
import type { Modules } from './modules.js';

/** McpServer connects the MCP server to the public listener and the shutdown. */
export interface McpServer {
  readonly mountEndpoint: MountEndpoint;
  /** Ends all open streams. Streams that open later end at once. */
  endStreams(): void;
}

/**
 * Opens the MCP server. Reports changes of keys and tools to open streams.
 * @param methods replaces the methods of the server, for tests
 */
export function openMcp(
  { config, keys, quotas, usage, log }: Modules,
  { steps, routes, quotaReport, publicUrl }: Admission,
  reference: McpReference,
  methods?: ServedMethods,
): McpServer {
  const { authenticator, bus } = keys;
  const tools = new RunningTools(config);
  const settings = mcpSettings(config, tools, publicUrl);
  // A stream needs a valid key, but no scope.
  const subscriptions = new Subscriptions((hash, address) => authenticator.recheck(hash, address, []));
  bus.subscribe((change) => subscriptions.onChange(change));
  config.onChange(() => {
    const before = tools.current;
    // The microtask runs after all parts of the change are applied.
    return () => queueMicrotask(() => haveSameTools(before, tools.current) || subscriptions.notifyToolsChanged());
  });
  const mountEndpoint = mcpEndpoint(
    {
      settings,
      tools,
      keyStep: steps.key,
      quotas: quotas.limiter,
      quotaReport,
      usage,
      basePathOf: (operation) => routes.basePathOf(operation),
      version: VERSION,
      reference,
      subscriptions,
      log: log.logger,
      misfits: new RareWarning(log.logger),
    },
    methods,
  );
  return { mountEndpoint, endStreams: () => subscriptions.stop() };
}

/**
 * Returns a function that reads the current settings. That function returns a new object only after a change of the
 * configuration or the public URL. Without tools, the server is off.
 * @param publicUrl URL of the gateway, whose host clients may use
 */
function mcpSettings(config: RunningConfig, tools: RunningTools, publicUrl: PublicUrl): () => McpSettings {
  let settingsFile: unknown;
  let url = '';
  let settings: McpSettings | undefined;
  return () => {
    const { file } = config.current;
    const currentUrl = publicUrl.get();
    if (settings !== undefined && settingsFile === file && url === currentUrl) return settings;
    const { mcp, api } = file;
    settingsFile = file;
    url = currentUrl;
    settings = {
      isOn: mcp.enabled && tools.current.tools.length > 0,
      name: mcp.name ?? api.title,
      instructions: mcp.instructions,
      allowedOrigins: mcp.allowedOrigins,
      allowedHosts: [currentUrl, mcp.oauth?.publicUrl].flatMap(hostOf).concat(mcp.allowedHosts),
      mostListed: mcp.mostListed,
      mostResponseBytes: mcp.maxResponseBytes,
    };
    return settings;
  };
}

function hostOf(url: string | undefined): readonly string[] {
  return url === undefined ? [] : [new URL(url).host];
}

/** Reports whether every key sees the same tools before and after a change. */
function haveSameTools({ tools: before }: ToolSet, { tools: after }: ToolSet): boolean {
  const visibleParts = ({ json, operation }: Tool): string => `${operation.scopes.join(' ')} ${json}`;
  return before.length === after.length && before.every((tool, at) => visibleParts(tool) === visibleParts(after[at]!));
}
