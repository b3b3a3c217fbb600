/**
 * `GET {basePath}/usage`: the caller's own limits and what is left of them, and with `group_by` what its requests came to: those
 * of the calling key, not of the account's other keys. Needs a key but no scope, and costs nothing.
 */
import { Controller, Get, Req, Res, UseGuards } from '@nestjs/common';
import { Problem } from '../errors.js';
import { fieldsOfLines } from '../http1/fields.js';
import { QuotaStorage } from '../quotas/quota-storage.js';
import { UsageReader, type UsageReport } from '../quotas/usage.js';
import { retryFields } from '../retry-after.js';
import { ApiKeyGuard } from './api-key.guard.js';
import type { GatewayReply, GatewayRequest } from './exchange.js';
import { QuotaReport } from './quota-report.js';

/** Queries with `group_by` of one key. */
const SUMS_PER_MINUTE = 60;
const MINUTE_MS = 60_000;

@Controller('usage')
@UseGuards(ApiKeyGuard)
export class UsageController {
  constructor(
    private readonly usage: UsageReader,
    private readonly report: QuotaReport,
    private readonly quotas: QuotaStorage,
  ) {}

  @Get()
  async read(@Req() request: GatewayRequest, @Res() reply: GatewayReply): Promise<void> {
    const { exchange } = request;
    const { key, response, message } = exchange;
    if (key === undefined) throw new Problem('missing_api_key');
    const parameters = Object.fromEntries(new URLSearchParams(exchange.url.slice(exchange.pathEnd)));
    const query = this.usage.query(parameters, key.record);
    if (query !== undefined) await this.refuseTooMany(key.record.keyId);
    const body = Buffer.from(JSON.stringify(await this.reportOf(key.record, query, key.subject)));
    await this.report.addTo(exchange);
    reply.hijack();
    response.writeHead(200, [
      'Content-Type',
      'application/json; charset=utf-8',
      'Content-Length',
      String(body.length),
      'Cache-Control',
      'private, no-store',
      ...fieldsOfLines(exchange.answerLines),
    ]);
    if (message.method === 'HEAD') response.end();
    else response.end(body);
  }

  private async reportOf(...args: Parameters<UsageReader['readWithRows']>): Promise<UsageReport> {
    try {
      return await this.usage.readWithRows(...args);
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw new Problem('quota_unavailable', { cause: error, headers: retryFields(0) });
    }
  }

  /** Sums cost the database something and the caller nothing: so many a minute are enough. */
  private async refuseTooMany(keyId: string): Promise<void> {
    const { isBlocked, timeToBlockExpire } = await this.quotas.increment(keyId, MINUTE_MS, SUMS_PER_MINUTE, 0, 'usage');
    if (!isBlocked) return;
    throw new Problem('too_many_requests', {
      detail: `Usage can be summed up ${SUMS_PER_MINUTE} times a minute. Without group_by there is no such limit.`,
      headers: ['Retry-After', String(timeToBlockExpire)],
    });
  }
}
