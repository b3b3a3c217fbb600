/** Dependencies of the admin application, provided by the program's start. */
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { AdminConfig } from '../../config/model/admin-schema.js';
import type { Clock } from '../../platform/clock.js';
import type { Explainer } from '../explain/explainer.js';
import type { Webhooks } from '../../webhooks/management/open-webhooks.js';
import type { EventIntake } from '../../webhooks/intake/intake.js';
import type { EventOutbox } from '../../outbox/outbox.js';
import type { AccountDeletion } from '../../members/account-deletion.js';
import type { AccountStore } from '../../accounts/accounts.js';
import type { ApiKeyStore } from '../../accounts/api-key-store.js';
import type { AuditLog } from '../../records/audit-log.js';
import type { Catalogue } from '../../accounts/catalogue.js';
import type { ChangeClaims } from '../../idempotency/change-claims.js';
import type { QuotaAdjustmentStore } from '../../accounts/quota-adjustments.js';
import type { ErrorPages } from '../../platform/problems/error-pages.js';
import type { ServiceTokens } from '../intake/events-token.guard.js';
import type { PanelFiles } from '../panel/panel-files.js';
import type { Logger } from '../../platform/log.js';
import type { Members } from '../../members/sign-in/open-members.js';
import type { HeardStatement } from '../../nodes/node-statement.js';
import type { NodeTarget } from '../../nodes/node-targets.js';
import type { AuthorizationRequests } from '../../authorization/clients/authorization-requests.js';
import type { RequestLogs } from '../../request-logs/request-logs.js';
import type { Exporter } from '../../transfer/exporter.js';
import type { Importer } from '../../transfer/importer.js';
import type { UsageReader } from '../../quota/usage-reader.js';
import type { DeprecatedCalls } from '../../admission/deprecated-calls.js';

/** A dependency that the process needs to be ready. */
export interface ReadinessCheck {
  readonly status: string;
  readonly detail?: string;
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
}

/** Dependencies of the admin API; absent in processes without the admin role. */
export interface AdminApiDependencies {
  /** The bearer token of the operators. */
  readonly operatorToken: string;
  readonly accounts: AccountStore;
  readonly accountDeletion: AccountDeletion;
  readonly keys: ApiKeyStore;
  readonly quotaAdjustments: QuotaAdjustmentStore;
  readonly importer: Importer;
  readonly exporter: Exporter;
  readonly changeClaims: ChangeClaims;
  readonly auditLog: AuditLog;
  readonly events: EventOutbox;
  readonly intake: EventIntake;
  /** Tokens for event intake, by service. */
  readonly serviceTokens: ServiceTokens;
  readonly catalogue: Catalogue;
  readonly explainer: Explainer;
  readonly usageReader: UsageReader;
  readonly deprecatedCalls: DeprecatedCalls;
  readonly requestLogs: RequestLogs;
  readonly throttlerStorage: ThrottlerStorage;
  /** Null if the panel is not built. Only the API is served then. */
  readonly panel: PanelFiles | null;
  readonly members: Members;
  readonly webhooks: Webhooks;
  readonly authorizationRequests: AuthorizationRequests;
}

export interface AdminDependencies {
  /** Origin of this listener for links, cookies and passkeys. Known once it listens. */
  readonly url: () => string;
  /** Pages that the `type` of problems links to. The public listener serves them. */
  readonly errorPages: ErrorPages;
  /** The current settings of the admin listener. */
  readonly settings: () => AdminConfig;
  /** Absolute path of the configuration file. Paths in it are relative to its folder. */
  readonly configPath: string;
  /** Null: health and metrics only. */
  readonly api: AdminApiDependencies | null;
  /** Returns the known state without checking anything, because probes have short deadlines. */
  readonly readiness: () => Readiness;
  /** Backend targets as every known gateway sees them: this process, and the last report of the others. */
  readonly targets: () => readonly NodeTarget[];
  /** Every known gateway, including this process. */
  readonly gateways: () => readonly HeardStatement[];
  /** Stores of the installation. */
  readonly stores: { readonly database: 'sqlite' | 'postgres'; readonly counters: 'process' | 'redis' };
  readonly metricsText: () => Promise<string>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Injection token of `AdminDependencies`. */
export const ADMIN_DEPENDENCIES = Symbol('AdminDependencies');
