/**
 * Defines the dependencies of the admin application and the health application. The program creates the dependencies at
 * startup.
 */
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { AdminConfig } from '../../config/model/admin-schema.js';
import type { Clock } from '../../platform/clock.js';
import type { Family } from '../../platform/metrics/family.js';
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
import type { KnownNodeStatus } from '../../nodes/node-status.js';
import type { NodeTarget } from '../../nodes/node-targets.js';
import type { AuthorizationRequests } from '../../authorization/clients/authorization-requests.js';
import type { RequestLogs } from '../../request-logs/request-logs.js';
import type { Exporter } from '../../transfer/exporter.js';
import type { Importer } from '../../transfer/importer.js';
import type { UsageReader } from '../../quota/usage-reader.js';
import type { DeprecatedCalls } from '../../admission/deprecated-calls.js';

/** ReadinessCheck is the state of one dependency of the process, such as the database. */
export interface ReadinessCheck {
  readonly status: string;
  readonly detail?: string;
}

/** Readiness is the state of the process for `/readyz`. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
}

/** AdminApiDependencies has the dependencies of the admin API. Only processes with the admin role have them. */
export interface AdminApiDependencies {
  /** The bearer token with operator rights. */
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
  /** Files of the panel. Null if the panel is not built, so that the listener serves only the API. */
  readonly panel: PanelFiles | null;
  readonly members: Members;
  readonly webhooks: Webhooks;
  readonly authorizationRequests: AuthorizationRequests;
}

/** AdminDependencies has the dependencies of the admin application. */
export interface AdminDependencies {
  /**
   * Returns the origin of the admin listener, for links, cookies and passkeys. The origin is final only once the
   * listener listens.
   */
  readonly url: () => string;
  /** URLs of the error pages that the `type` of problems links to. The public listener serves these pages. */
  readonly errorPages: ErrorPages;
  /** The current settings of the admin listener. */
  readonly settings: () => AdminConfig;
  /** Absolute path of the configuration file. Paths in the file are relative to its folder. */
  readonly configPath: string;
  /** Dependencies of the admin API. Null if the process serves only health and metrics. */
  readonly api: AdminApiDependencies | null;
  /** Returns the last known state of the process. Does not check dependencies, because probes have short deadlines. */
  readonly readiness: () => Readiness;
  /** Returns the backend targets with their state on every known gateway, including this process. */
  readonly targets: () => readonly NodeTarget[];
  /** Returns the last status report of every known gateway, including this process. */
  readonly gateways: () => readonly KnownNodeStatus[];
  /** Types of the database and of the store of counters. */
  readonly stores: { readonly database: 'sqlite' | 'postgres'; readonly counters: 'process' | 'redis' };
  readonly metrics: () => Promise<readonly Family[]>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Nest injection token of `AdminDependencies`. */
export const ADMIN_DEPENDENCIES = Symbol('AdminDependencies');
