/** What the admin application is given by whoever starts it. */
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { AdminConfig } from '../../config/model/admin-schema.js';
import type { Clock } from '../../platform/clock.js';
import type { Explainer } from '../explain/explainer.js';
import type { Webhooks } from '../../webhooks/management/open-webhooks.js';
import type { EventIntake } from '../../webhooks/intake/intake.js';
import type { EventOutbox } from '../../outbox/outbox.js';
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

/** One thing that the process needs to be of use. */
export interface ReadinessCheck {
  readonly status: string;
  readonly detail?: string;
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
}

/** Behind the admin API; a process without the admin role has none of it. */
export interface AdminApiDependencies {
  /** The operators' bearer token. */
  readonly operatorToken: string;
  readonly accounts: AccountStore;
  readonly keys: ApiKeyStore;
  readonly quotaAdjustments: QuotaAdjustmentStore;
  readonly importer: Importer;
  readonly exporter: Exporter;
  readonly changeClaims: ChangeClaims;
  readonly auditLog: AuditLog;
  readonly events: EventOutbox;
  readonly intake: EventIntake;
  /** By service, what its events are handed in with. */
  readonly serviceTokens: ServiceTokens;
  readonly catalogue: Catalogue;
  readonly explainer: Explainer;
  readonly usageReader: UsageReader;
  readonly deprecatedCalls: DeprecatedCalls;
  readonly requestLogs: RequestLogs;
  readonly throttlerStorage: ThrottlerStorage;
  /** Null where none was built: then there is the API alone. */
  readonly panel: PanelFiles | null;
  readonly members: Members;
  readonly webhooks: Webhooks;
  readonly authorizationRequests: AuthorizationRequests;
}

export interface AdminDependencies {
  /** Origin under which people reach this listener, for links, cookies and passkeys. Known once it listens. */
  readonly url: () => string;
  /** Where `type` of a problem leads: the pages stand on the public listener. */
  readonly errorPages: ErrorPages;
  /** The settings of the admin listener that are in force. */
  readonly settings: () => AdminConfig;
  /** Of the file that they are from, absolute: what it names is relative to its folder. */
  readonly configPath: string;
  /** Null: health and metrics alone. */
  readonly api: AdminApiDependencies | null;
  /** What is known of it, without asking anybody: probes have short deadlines. */
  readonly readiness: () => Readiness;
  /** The targets as every gateway sees them that this process knows of: its own, and what others have said last. */
  readonly targets: () => readonly NodeTarget[];
  /** Every gateway that this process knows of, itself among them. */
  readonly gateways: () => readonly HeardStatement[];
  /** What the installation stands on. */
  readonly stores: { readonly database: 'sqlite' | 'postgres'; readonly counters: 'process' | 'redis' };
  readonly metricsText: () => Promise<string>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Injection token of `AdminDependencies`, for what is no class. */
export const ADMIN_DEPENDENCIES = Symbol('AdminDependencies');
