/**
 * Lists and creates quota adjustments of an account. Only operators can create an adjustment. Adjustments cannot be
 * changed or deleted, because bills depend on them.
 */
import { Body, Controller, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ChangeContext } from '../../records/audit-log.js';
import { createQuotaAdjustmentSchema, type CreateQuotaAdjustment } from '../../accounts/quota-adjustment-fields.js';
import { QuotaAdjustmentStore } from '../../accounts/quota-adjustments.js';
import { GrantedScopes } from '../access/portal-scopes.js';
import { ChangedBy } from '../request/change-context.js';
import { storeResponseBody } from '../request/idempotency.js';
import { listBody, pageQuerySchema, type ListBody, type PageQuery } from '../request/list.js';
import { Operation } from '../openapi/operation-decorator.js';
import {
  quotaAdjustmentListSchema,
  quotaAdjustmentResource,
  quotaAdjustmentSchema,
  type QuotaAdjustmentResource,
} from './quota-adjustment.resource.js';

@Controller()
export class QuotaAdjustmentsController {
  constructor(private readonly adjustments: QuotaAdjustmentStore) {}

  @Operation('listQuotaAdjustments', quotaAdjustmentListSchema)
  async list(
    @Param('id') accountId: string,
    @Query({ schema: pageQuerySchema }) query: PageQuery,
    @GrantedScopes() granted: readonly string[] | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<QuotaAdjustmentResource>> {
    return listBody(await this.adjustments.list(accountId, query, granted), quotaAdjustmentResource, query, reply);
  }

  @Operation('createQuotaAdjustment', quotaAdjustmentSchema)
  async create(
    @Param('id') accountId: string,
    @Body({ schema: createQuotaAdjustmentSchema }) body: CreateQuotaAdjustment,
    @ChangedBy() context: ChangeContext,
  ): Promise<QuotaAdjustmentResource> {
    const recordingContext = storeResponseBody(context, quotaAdjustmentResource);
    return quotaAdjustmentResource(await this.adjustments.create(accountId, body, recordingContext));
  }
}
