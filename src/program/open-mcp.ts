/** Opens the MCP server on the public listener. */
import type { OpenDoor } from '../admission/doors/door.js';
import type { RunningConfig } from '../config/running-config.js';
import { RunningTools } from '../config/running-tools.js';
import type { Tool, ToolSet } from '../config/tools/tool.js';
import { mcpDoor } from '../mcp/door/mcp-door.js';
import type { McpReference } from '../mcp/mcp-parts.js';
import type { ServedMethods } from '../mcp/method-call.js';
import type { McpSettings } from '../mcp/settings.js';
import { Subscriptions } from '../mcp/subscriptions/subscriptions.js';
import { RareWarning } from '../platform/rare-warning.js';
import { VERSION } from '../platform/version.js';
import type { Admission, PublicUrl } from '../admission/open.js';
import type { Rooms } from './rooms.js';

/** McpServer is the interface for the listener. */
export interface McpServer {
  readonly openDoor: OpenDoor;
  /** Ends all open streams, and those that are opened later. */
  endStreams(): void;
}

/** Opens the server. Streams are updated on changes of keys and tools. @param methods overrides for the methods. */
export function openMcp(
  { config, keys, quotas, usage, log }: Rooms,
  { steps, routes, quotaReport, publicUrl }: Admission,
  reference: McpReference,
  methods?: ServedMethods,
): McpServer {
  const { authenticator, bus } = keys;
  const tools = new RunningTools(config);
  const settings = mcpSettings(config, tools, publicUrl);
  // Streams need no scope.
  const subscriptions = new Subscriptions((hash, address) => authenticator.recheck(hash, address, []));
  bus.subscribe((change) => subscriptions.onChange(change));
  config.onChange(() => {
    const before = tools.current;
    // After the complete change is applied.
    return () => queueMicrotask(() => areSame(before, tools.current) || subscriptions.notifyToolsChanged());
  });
  const openDoor = mcpDoor(
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
  return { openDoor, endStreams: () => subscriptions.stop() };
}

/**
 * The settings, which follow the configuration and are another object after each change. Without a tool there is no
 * server.
 * @param publicUrl whose host is one that the server is asked under.
 */
function mcpSettings(config: RunningConfig, tools: RunningTools, publicUrl: PublicUrl): () => McpSettings {
  let madeOf: unknown;
  let url = '';
  let settings: McpSettings | undefined;
  return () => {
    const { file } = config.current;
    const asked = publicUrl.get();
    if (settings !== undefined && madeOf === file && url === asked) return settings;
    const { mcp, api } = file;
    madeOf = file;
    url = asked;
    settings = {
      isOn: mcp.enabled && tools.current.tools.length > 0,
      name: mcp.name ?? api.title,
      instructions: mcp.instructions,
      allowedOrigins: mcp.allowedOrigins,
      allowedHosts: [asked, mcp.oauth?.publicUrl].flatMap(hostOf).concat(mcp.allowedHosts),
      mostListed: mcp.mostListed,
      mostResponseBytes: mcp.maxResponseBytes,
    };
    return settings;
  };
}

function hostOf(url: string | undefined): readonly string[] {
  return url === undefined ? [] : [new URL(url).host];
}

/** Whether every key sees the same tools. */
function areSame({ tools: before }: ToolSet, { tools: after }: ToolSet): boolean {
  const seen = ({ json, operation }: Tool): string => `${operation.scopes.join(' ')} ${json}`;
  return before.length === after.length && before.every((tool, at) => seen(tool) === seen(after[at]!));
}
