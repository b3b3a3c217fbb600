/** Lists the quota adjustments of all accounts, for operators. */
import { Controller, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { NamedAdjustment } from '../../accounts/adjustment-list.js';
import { QuotaAdjustmentStore } from '../../accounts/quota-adjustments.js';
import { Operation } from '../openapi/operation-decorator.js';
import { listBody, listSchema, pageQuerySchema, type ListBody, type PageQuery } from '../request/list.js';
import { quotaAdjustmentResource, quotaAdjustmentSchema } from './quota-adjustment.resource.js';

const namedSchema = quotaAdjustmentSchema
  .extend({ account_name: z.string().max(200) })
  .meta({ id: 'NamedQuotaAdjustment' });
const namedListSchema = listSchema('NamedQuotaAdjustmentList', namedSchema);

type NamedResource = z.output<typeof namedSchema>;

@Controller()
export class AllQuotaAdjustmentsController {
  constructor(private readonly adjustments: QuotaAdjustmentStore) {}

  @Operation('listAllQuotaAdjustments', namedListSchema)
  async list(
    @Query({ schema: pageQuerySchema }) query: PageQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<NamedResource>> {
    return listBody(await this.adjustments.listAll(query), namedResource, query, reply);
  }
}

const namedResource = (adjustment: NamedAdjustment): NamedResource => ({
  ...quotaAdjustmentResource(adjustment),
  account_name: adjustment.accountName,
});
