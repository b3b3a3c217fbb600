/** What the MCP server stands on. */
import type { DoorHost } from '../admission/doors/door.js';
import type { QuotaReport } from '../admission/quota-report.js';
import type { Step } from '../admission/step.js';
import type { SerialisedDocument } from '../config/api-description.js';
import type { ToolSet } from '../config/tools/tool.js';
import type { CachedKey } from '../keys/cached-key.js';
import type { Limiter } from '../quota/limiter.js';
import type { UsageReader } from '../quota/usage-reader.js';
import type { Logger } from '../platform/log.js';
import type { RareWarning } from '../platform/rare-warning.js';
import type { Problem } from '../platform/problems/errors.js';
import type { McpSettings } from './settings.js';
import type { Subscriptions } from './subscriptions/subscriptions.js';

/** McpParts are handed in by whoever puts the program together. */
export interface McpParts {
  readonly settings: () => McpSettings;
  /** Those in force. */
  readonly tools: { readonly current: ToolSet };
  /** The key step of the request path: who is calling is found out in one way. */
  readonly keyStep: Step<CachedKey | Problem>;
  readonly quotas: Pick<Limiter, 'throttle'>;
  readonly quotaReport: Pick<QuotaReport, 'addTo'>;
  readonly usage: Pick<UsageReader, 'readWithRows'>;
  /** `/api/v1` */
  readonly basePath: string;
  /** Of this program. */
  readonly version: string;
  readonly reference: McpReference;
  readonly subscriptions: Subscriptions;
  readonly log: Logger;
  /** Tells the operator of results whose fields have other types than their description says. */
  readonly misfits: RareWarning;
}

/** McpReference is what assistants may read of the API. */
export interface McpReference {
  /** Its description, as it is now. */
  readonly openApi: () => SerialisedDocument;
  /** Every error code with what it means and what to do: JSON. */
  readonly errors: () => string;
}

/** What is there once the listener has it: the gateway behind the door. */
export interface OpenedParts extends McpParts {
  readonly host: DoorHost;
}
