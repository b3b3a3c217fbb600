/** Defines the dependencies of the MCP server. */
import type { EndpointHost } from '../admission/mounted/mounted-endpoint.js';
import type { QuotaReport } from '../admission/quota-report.js';
import type { Step } from '../admission/step.js';
import type { ApiDocument } from '../config/api-description.js';
import type { Operation } from '../config/model/schema.js';
import type { ToolSet } from '../config/tools/tool.js';
import type { CachedKey } from '../keys/cached-key.js';
import type { Limiter } from '../quota/limiter.js';
import type { UsageReader } from '../quota/usage-reader.js';
import type { Logger } from '../platform/log.js';
import type { RareWarning } from '../platform/rare-warning.js';
import type { Problem } from '../platform/problems/errors.js';
import type { McpSettings } from './settings.js';
import type { Subscriptions } from './subscriptions/subscriptions.js';

/** McpParts holds the dependencies that exist before the gateway is built. */
export interface McpParts {
  readonly settings: () => McpSettings;
  /** Provides the tools of the current configuration. */
  readonly tools: { readonly current: ToolSet };
  /** Key step of the request path, so that API requests and MCP requests are authenticated in the same way. */
  readonly keyStep: Step<CachedKey | Problem>;
  readonly quotas: Pick<Limiter, 'throttle'>;
  readonly quotaReport: Pick<QuotaReport, 'addTo'>;
  readonly usage: Pick<UsageReader, 'readWithRows'>;
  /** Returns the base path of an operation, such as `/api/v1`. */
  readonly basePathOf: (operation: Operation) => string;
  /** Version of the gateway. */
  readonly version: string;
  readonly reference: McpReference;
  readonly subscriptions: Subscriptions;
  readonly log: Logger;
  /** Warns the operator about tool results with fields whose types contradict the schema of the operation. */
  readonly misfits: RareWarning;
}

/** McpReference provides the documents that assistants can read. */
export interface McpReference {
  /** Returns the current OpenAPI document of each API. */
  readonly openApis: () => readonly ApiDocument[];
  /** Returns every error code with its meaning and advice, as JSON. */
  readonly errors: () => string;
}

/**
 * OpenedParts holds all dependencies, including the gateway, which mounts the MCP server when its listener is built.
 */
export interface OpenedParts extends McpParts {
  readonly host: EndpointHost;
}
