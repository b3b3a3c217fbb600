/**
 * Lists the logged requests of an account with operation, key and outcome, and reads single requests. At high rates,
 * the log keeps only a sample, with preference for errors. The log never contains bodies, headers, queries or raw
 * paths.
 */
import { Controller, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AccountStore, type Account } from '../../accounts/accounts.js';
import { ApiKeyStore } from '../../accounts/api-key-store.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { invalidParameters } from '../../platform/problems/parameter-problem.js';
import { ErrorPages } from '../../platform/problems/error-pages.js';
import { Problem } from '../../platform/problems/errors.js';
import { statusRange, type RequestLogQuery } from '../../request-logs/request-log-query.js';
import type { LoggedRequest } from '../../request-logs/request-log-reader.js';
import { RequestLogs } from '../../request-logs/request-logs.js';
import { Explainer } from '../explain/explainer.js';
import { explanationResource } from '../explain/explanation.resource.js';
import { GrantedScopes } from '../access/portal-scopes.js';
import { Operation } from '../openapi/operation-decorator.js';
import { setNextLink } from '../request/list.js';
import {
  errorOf,
  requestDetailSchema,
  requestLogEntry,
  requestLogListSchema,
  requestsQuerySchema,
  type RequestDetail,
  type RequestLogList,
  type RequestsQuery,
} from './request-log.resource.js';

@Controller()
export class RequestsController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly keys: ApiKeyStore,
    private readonly logs: RequestLogs,
    private readonly explainer: Explainer,
    private readonly pages: ErrorPages,
  ) {}

  @Operation('listRequests', requestLogListSchema)
  async list(
    @Param('id') accountId: string,
    @Query({ schema: requestsQuerySchema }) query: RequestsQuery,
    @GrantedScopes() granted: readonly string[] | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RequestLogList> {
    const { timeZone } = await this.accounts.get(accountId);
    const { keptSinceMs } = this.logs;
    const page = await this.logs.readPage(accountId, { ...logQuery(query), granted });
    setNextLink(reply, query, page.nextCursor);
    return {
      data: page.data.map((row) => requestLogEntry(row, timeZone)),
      has_more: page.hasMore,
      next_cursor: page.nextCursor,
      kept_since: keptSinceMs === undefined ? null : formatWithOffset(keptSinceMs, timeZone),
    };
  }

  @Operation('getRequest', requestDetailSchema)
  async get(
    @Param('id') accountId: string,
    @Param('request_id') requestId: string,
    @GrantedScopes() granted: readonly string[] | undefined,
  ): Promise<RequestDetail> {
    const account = await this.accounts.get(accountId);
    const row = await this.logs.find(accountId, requestId, granted);
    if (row === undefined) {
      throw new Problem('resource_not_found', { detail: 'Not found. The account has no stored request with this id.' });
    }
    return {
      ...requestLogEntry(row, account.timeZone),
      error: errorOf(row.code, this.pages),
      explanation: await this.explain(account, row),
    };
  }

  /** Explains how the gateway would respond to the logged request now. Null if its operation no longer exists. */
  private async explain(account: Account, row: LoggedRequest): Promise<RequestDetail['explanation']> {
    const { explainer } = this;
    if (!explainer.hasOperation(row.operation)) return null;
    const key = await this.keys.get(row.api_key_id);
    const request = { operationId: row.operation, clientAddress: row.ip };
    return explanationResource(await explainer.explain(key, account, request), explainer.pathOf);
  }
}

/**
 * Converts query parameters to a query of the request log.
 * @throws Problem `invalid_parameter` if `from` is after `to`
 */
function logQuery(query: RequestsQuery): RequestLogQuery {
  const from = query.from === undefined ? 0 : Date.parse(query.from);
  // Treat dates before 1970 as the start of 1970.
  const to = query.to === undefined ? Number.MAX_SAFE_INTEGER : Math.max(0, Date.parse(query.to));
  const isReversed = query.from !== undefined && from > to;
  if (isReversed) throw invalidParameters([{ parameter: 'from', detail: 'must not be after `to`' }]);
  return {
    from: Math.max(0, from),
    to,
    keyId: query.api_key_id,
    operation: query.operation,
    status: query.status === undefined ? undefined : statusRange(query.status),
    code: query.code,
    requestId: query.request_id,
    source: query.source,
    limit: query.limit,
    cursor: query.cursor,
    order: query.order,
  };
}
