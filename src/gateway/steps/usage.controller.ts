/**
 * Serves `GET {basePath}/usage`: the limits of the calling key and its account. With `group_by`, the response also has
 * the usage of the calling key. Requires a key but no scope, and uses no quota. Responds with 400 for invalid
 * parameters, 429 for too many aggregations, and 503 if the usage is unavailable.
 */
import { Controller, Get, Req, Res, UseGuards, type Type } from '@nestjs/common';
import { Problem } from '../../platform/problems/errors.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import type { ParameterError } from '../../platform/problems/parameter-problem.js';
import type { OwnPolicy } from '../../quota/model/headers.js';
import { Limiter } from '../../quota/limiter.js';
import { retryAfterOf } from '../../quota/throttle.js';
import { THROTTLES } from '../../quota/model/throttle-rows.js';
import { usageParameters } from '../../quota/usage/usage-query.js';
import { UsageReader, type UsageReport } from '../../quota/usage-reader.js';
import { retryFields } from '../../platform/problems/retry-after.js';
import { ApiKeyGuard } from './step-guards.js';
import type { Exchange, GatewayReply, GatewayRequest } from '../request/exchange.js';
import { QuotaReport } from '../../admission/quota-report.js';

/** Name of the aggregation limit in the `RateLimit` field. */
const AGGREGATIONS_POLICY = 'usage-queries';

@UseGuards(ApiKeyGuard)
export class UsageEndpoint {
  constructor(
    private readonly usage: UsageReader,
    private readonly report: QuotaReport,
    private readonly quotas: Limiter,
  ) {}

  @Get()
  async read(@Req() request: GatewayRequest, @Res() reply: GatewayReply): Promise<void> {
    const { exchange } = request;
    const { nodeResponse, message } = exchange;
    const body = await this.bodyFor(exchange);
    reply.hijack();
    nodeResponse.writeHead(200, [
      'Content-Type',
      'application/json; charset=utf-8',
      'Content-Length',
      String(body.length),
      'Cache-Control',
      'private, no-store',
      ...fieldsOfLines(exchange.responseLines),
    ]);
    if (message.method === 'HEAD') {
      nodeResponse.end();
      return;
    }
    exchange.bytesOut = body.length;
    nodeResponse.end(body);
  }

  /**
   * Returns the JSON body. Adds the limit fields to the response even if the promise rejects, because the key was
   * accepted.
   */
  private async bodyFor(exchange: Exchange): Promise<Buffer> {
    const { key, url, pathEnd } = exchange;
    if (key === undefined) throw new Problem('missing_api_key');
    let policyUsed: OwnPolicy | undefined;
    try {
      const wrong: ParameterError[] = [];
      const query = this.usage.parseQuery(usageParameters(url.slice(pathEnd), wrong), key.record, wrong);
      if (query !== undefined) policyUsed = await this.countAggregation(key.record.keyId);
      return Buffer.from(JSON.stringify(await this.reportOf(key.record, query, key.subject)));
    } catch (error) {
      if (error instanceof TooManyAggregations) policyUsed = error.policy;
      throw error;
    } finally {
      await this.report.addTo(exchange, policyUsed);
    }
  }

  private async reportOf(...args: Parameters<UsageReader['readWithRows']>): Promise<UsageReport> {
    try {
      return await this.usage.readWithRows(...args);
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw new Problem('quota_unavailable', { cause: error, headers: retryFields(0) });
    }
  }

  /**
   * Counts an aggregation of a key, and rejects with a 429 if the key has made too many. An aggregation uses no quota
   * but costs database time, so there is a separate limit.
   */
  private async countAggregation(keyId: string): Promise<OwnPolicy> {
    const verdict = await this.quotas.throttle(THROTTLES.usageSums).countHit(keyId);
    const { limit, windowMs } = THROTTLES.usageSums;
    const policy = {
      name: AGGREGATIONS_POLICY,
      limit,
      windowSeconds: windowMs / 1_000,
      remaining: verdict.admitted ? limit - verdict.hits : 0,
      resetSeconds: retryAfterOf(verdict),
    };
    if (!verdict.admitted) throw new TooManyAggregations(policy);
    return policy;
  }
}

/** Creates the controller class that serves the usage under the base paths of all APIs. */
export function createUsageController(basePaths: readonly string[]): Type<UsageEndpoint> {
  @Controller(basePaths.map((basePath) => `${basePath}/usage`))
  class UsageController extends UsageEndpoint {}
  return UsageController;
}

class TooManyAggregations extends Problem {
  constructor(readonly policy: OwnPolicy) {
    const seconds = String(policy.resetSeconds);
    super('too_many_usage_queries', {
      detail:
        `Usage can be aggregated ${policy.limit} times per minute with one key. Try again in ${seconds} seconds. ` +
        'Requests without group_by have no such limit.',
      headers: ['Retry-After', seconds, 'X-Should-Retry', 'true'],
      violatedPolicies: [policy.name],
      retryAfter: policy.resetSeconds,
    });
  }
}
