/** The MCP server on the public listener: its parts, and what it follows. */
import type { OpenDoor } from '../admission/doors/door.js';
import type { RunningTools } from '../config/running-tools.js';
import { mcpDoor } from '../mcp/door/mcp-door.js';
import type { McpReference } from '../mcp/mcp-parts.js';
import type { McpSettings } from '../mcp/settings.js';
import { Subscriptions } from '../mcp/subscriptions/subscriptions.js';
import type { Log } from '../platform/log.js';
import { VERSION } from '../platform/version.js';
import type { Admission } from './open-admission.js';
import type { Domain } from './open-domain.js';
import type { Shutdown } from './shutdown.js';

/** What differs from process to process, or follows the configuration. */
export interface McpSources {
  readonly settings: () => McpSettings;
  readonly tools: Pick<RunningTools, 'current'>;
  readonly reference: McpReference;
}

/** Opens the door. Its streams end with the program, and follow keys and tools. */
export function openMcp(
  { config, keys, quotas, usage }: Domain,
  { steps, routes, quotaReport }: Admission,
  { settings, tools, reference }: McpSources,
  log: Log,
  shutdown: Shutdown,
): OpenDoor {
  const { authenticator, bus } = keys;
  // A client that listens needs no scope.
  const subscriptions = new Subscriptions((hash, address) => authenticator.recheck(hash, address, []));
  bus.subscribe((change) => subscriptions.onChange(change));
  config.onChange(() => {
    const before = tools.current;
    return () => void queueMicrotask(() => tools.current !== before && subscriptions.tellOfTools());
  });
  shutdown.add('end MCP streams', async () => subscriptions.stop());
  return mcpDoor({
    settings,
    tools,
    keyStep: steps.key,
    quotas: quotas.limiter,
    quotaReport,
    usage,
    basePath: routes.basePath,
    version: VERSION,
    reference,
    subscriptions,
    log: log.logger,
  });
}
