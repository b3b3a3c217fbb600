/** `GET {basePath}/usage`: the caller's own limits and what is left of them. Needs a key but no scope, and costs nothing. */
import { Controller, Get, Req, Res, UseGuards } from '@nestjs/common';
import { Problem } from '../errors.js';
import { UsageReader } from '../quotas/usage.js';
import { ApiKeyGuard } from './api-key.guard.js';
import type { GatewayReply, GatewayRequest } from './exchange.js';
import { QuotaReport } from './quota-report.js';

@Controller('usage')
@UseGuards(ApiKeyGuard)
export class UsageController {
  constructor(
    private readonly usage: UsageReader,
    private readonly report: QuotaReport,
  ) {}

  @Get()
  async read(@Req() request: GatewayRequest, @Res() reply: GatewayReply): Promise<void> {
    const { exchange } = request;
    const { key, answerHeaders, response, message } = exchange;
    if (key === undefined) throw new Problem('missing_api_key');
    let body: Buffer;
    try {
      body = Buffer.from(JSON.stringify(await this.usage.read(key.record)));
    } catch (error) {
      throw new Problem('quota_unavailable', { cause: error, headers: ['Retry-After', '1'] });
    }
    await this.report.addTo(exchange);
    reply.hijack();
    response.writeHead(200, [
      'Content-Type',
      'application/json; charset=utf-8',
      'Content-Length',
      String(body.length),
      'Cache-Control',
      'private, no-store',
      ...answerHeaders,
    ]);
    if (message.method === 'HEAD') response.end();
    else response.end(body);
  }
}
