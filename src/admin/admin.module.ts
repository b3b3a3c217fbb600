/**
 * Builds the Nest modules of the admin listener and of the separate health listener. The admin listener serves the
 * admin API and the event intake. It also serves health and metrics, unless they have their own listener.
 */
import { Module, type DynamicModule, type Provider, type Type } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { EventIntake } from '../webhooks/intake/intake.js';
import { EventOutbox } from '../outbox/outbox.js';
import { AccountDeletion } from '../members/account-deletion.js';
import { AccountStore } from '../accounts/accounts.js';
import { ApiKeyStore } from '../accounts/api-key-store.js';
import { AuditLog } from '../records/audit-log.js';
import { Catalogue } from '../accounts/catalogue.js';
import { ChangeClaims } from '../idempotency/change-claims.js';
import { QuotaAdjustmentStore } from '../accounts/quota-adjustments.js';
import { Exporter } from '../transfer/exporter.js';
import { Importer } from '../transfer/importer.js';
import { UsageReader } from '../quota/usage-reader.js';
import { ErrorPages } from '../platform/problems/error-pages.js';
import { DeprecatedCalls } from '../admission/deprecated-calls.js';
import { RequestLogs } from '../request-logs/request-logs.js';
import { AccountsController } from './accounts/accounts.controller.js';
import { IdempotencyInterceptor } from './request/idempotency.interceptor.js';
import { ADMIN_DEPENDENCIES, type AdminApiDependencies, type AdminDependencies } from './request/admin-dependencies.js';
import { AccountApiKeysController } from './api-keys/account-api-keys.controller.js';
import { ApiKeysController } from './api-keys/api-keys.controller.js';
import { AuditLogController } from './audit-log/audit-log.controller.js';
import { ExplainController } from './explain/explain.controller.js';
import { Explainer } from './explain/explainer.js';
import { HealthController } from './health/health.controller.js';
import { SERVICE_TOKENS } from './intake/events-token.guard.js';
import { IntakeController } from './intake/intake.controller.js';
import { AdminNetworks } from './listener/admin-networks.js';
import { openApiDocument } from './openapi/openapi-document.js';
import { MEMBER_CONTROLLERS, memberProviders } from './member-parts.js';
import { PROVIDER_CONTROLLERS, providerProviders } from './provider-parts.js';
import { OPENAPI_DOCUMENT, OpenApiController } from './openapi/openapi.controller.js';
import { callerLimits } from './access/caller-limits.js';
import { CLOCK } from './access/recent-confirmation.js';
import { CredentialsGuard, OPERATOR_TOKEN } from './access/credentials.guard.js';
import { CrossSiteGuard } from './access/cross-site.guard.js';
import { NetworkGuard } from './access/network.guard.js';
import { PermissionGuard } from './access/permission.guard.js';
import { Site } from './access/site.js';
import { McpToolsController } from './mcp-tools/mcp-tools.controller.js';
import { AuthorizationRequests } from '../authorization/clients/authorization-requests.js';
import {
  AuthorizationApprovalsController,
  AuthorizationRequestsController,
} from './oauth/authorization-requests.controller.js';
import { OperationsController } from './operations/operations.controller.js';
import { INSTALLATION_CONTROLLERS } from './installation-parts.js';
import { PlansController } from './plans/plans.controller.js';
import { QuotaAdjustmentsController } from './quota-adjustments/quota-adjustments.controller.js';
import { RequestsController } from './requests/requests.controller.js';
import { ScopesController } from './scopes/scopes.controller.js';
import { WEBHOOK_CONTROLLERS, webhookProviders } from './webhook-parts.js';
import { UsageController } from './usage/usage.controller.js';

const API_VERSION = '1.0.0';

const API_CONTROLLERS: readonly Type[] = [
  AccountsController,
  AccountApiKeysController,
  ApiKeysController,
  UsageController,
  RequestsController,
  ExplainController,
  QuotaAdjustmentsController,
  ScopesController,
  PlansController,
  OperationsController,
  McpToolsController,
  ...INSTALLATION_CONTROLLERS,
  AuditLogController,
  ...MEMBER_CONTROLLERS,
  ...PROVIDER_CONTROLLERS,
  ...WEBHOOK_CONTROLLERS,
  AuthorizationRequestsController,
  AuthorizationApprovalsController,
  OpenApiController,
];

/** Builds the OpenAPI document of the admin API. Works without a running application. */
export const adminApiDocument = (): object => openApiDocument(API_CONTROLLERS, API_VERSION);

@Module({})
export class AdminModule {
  /** Returns the module of the admin listener. Without API dependencies, the module serves only health and metrics. */
  static forRoot(deps: AdminDependencies, networks: AdminNetworks): DynamicModule {
    if (deps.api === null) return AdminModule.forHealth(deps);
    const hasHealth = deps.settings().health === undefined;
    return {
      module: AdminModule,
      imports: [ThrottlerModule.forRoot(callerLimits(deps.api.throttlerStorage, deps.settings))],
      controllers: [...(hasHealth ? [HealthController] : []), ...API_CONTROLLERS, IntakeController],
      providers: [
        { provide: ADMIN_DEPENDENCIES, useValue: deps },
        { provide: AdminNetworks, useValue: networks },
        ...apiProviders(deps.api, deps),
      ],
    };
  }

  /** Returns the module of a separate health listener, which serves only health and metrics. */
  static forHealth(deps: AdminDependencies): DynamicModule {
    const dependencies = { provide: ADMIN_DEPENDENCIES, useValue: deps };
    return { module: AdminModule, controllers: [HealthController], providers: [dependencies] };
  }
}

function apiProviders(api: AdminApiDependencies, deps: AdminDependencies): Provider[] {
  const { url, clock } = deps;
  return [
    { provide: OPERATOR_TOKEN, useValue: api.operatorToken },
    { provide: AccountStore, useValue: api.accounts },
    { provide: AccountDeletion, useValue: api.accountDeletion },
    { provide: ApiKeyStore, useValue: api.keys },
    { provide: ChangeClaims, useValue: api.changeClaims },
    { provide: QuotaAdjustmentStore, useValue: api.quotaAdjustments },
    { provide: Importer, useValue: api.importer },
    { provide: Exporter, useValue: api.exporter },
    { provide: AuditLog, useValue: api.auditLog },
    { provide: EventOutbox, useValue: api.events },
    { provide: Catalogue, useValue: api.catalogue },
    { provide: Explainer, useValue: api.explainer },
    { provide: UsageReader, useValue: api.usageReader },
    { provide: DeprecatedCalls, useValue: api.deprecatedCalls },
    { provide: RequestLogs, useValue: api.requestLogs },
    { provide: EventIntake, useValue: api.intake },
    { provide: SERVICE_TOKENS, useValue: api.serviceTokens },
    { provide: ErrorPages, useValue: deps.errorPages },
    { provide: OPENAPI_DOCUMENT, useValue: adminApiDocument },
    ...memberProviders(api.members, deps),
    ...providerProviders(api.members, deps),
    ...webhookProviders(api.webhooks),
    { provide: AuthorizationRequests, useValue: api.authorizationRequests },
    { provide: Site, useValue: new Site(url) },
    { provide: CLOCK, useValue: clock },
    // Nest runs the guards in this order: network, credentials, request limits, cross-site check, permission. All
    // guards skip controllers marked with `@Public`.
    { provide: APP_GUARD, useClass: NetworkGuard },
    { provide: APP_GUARD, useClass: CredentialsGuard },
    { provide: APP_GUARD, useClass: ThrottlerGuard },
    { provide: APP_GUARD, useClass: CrossSiteGuard },
    { provide: APP_GUARD, useClass: PermissionGuard },
    { provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor },
  ];
}
