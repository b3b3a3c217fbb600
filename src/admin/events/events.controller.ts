/**
 * What the gateway has had to tell an account, newest first. Webhooks deliver the same events; here they can be read.
 */
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { EventOutbox } from '../../events/outbox.js';
import { AccountStore } from '../../accounts/accounts.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { listBody, listSchema, pageQuerySchema, type ListBody, type PageQuery } from '../request/list.js';
import { countField, idField, timeField as instant } from '../openapi/fields.js';
import { Documented } from '../openapi/documented.js';

const eventSchema = z
  .object({
    id: idField('evt'),
    type: z.enum(['quota.threshold_reached']),
    account_id: idField('acc'),
    data: z
      .object({
        account_id: idField('acc'),
        api_key_id: idField('key').nullable().meta({ description: 'Null where the limit is the account’s.' }),
        policy: z.enum(['account-month', 'key-month']),
        threshold_percent: z.literal([80, 100]),
        limit: countField,
        used: countField.meta({ description: 'When it was noticed.' }),
        period_start: instant,
        period_end: instant,
        resets_at: instant,
      })
      .meta({ description: 'Once for each threshold, limit and period.' }),
    created_at: instant,
  })
  .meta({ id: 'Event' });

const eventListSchema = listSchema('EventList', eventSchema);

type EventResource = z.output<typeof eventSchema>;

@Controller('admin/v1/accounts/:id/events')
export class EventsController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly outbox: EventOutbox,
  ) {}

  @Get()
  @Documented({
    id: 'listEvents',
    summary: 'List the events of an account, newest first',
    response: eventListSchema,
    problems: ['resource_not_found'],
  })
  async list(
    @Param('id') accountId: string,
    @Query({ schema: pageQuerySchema }) query: PageQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<EventResource>> {
    const { timeZone } = await this.accounts.get(accountId);
    const page = await this.outbox.list({ ...query, accountId });
    return listBody(
      page,
      ({ id, type, data, createdAt }): EventResource => ({
        id,
        ...({ type, data } as Pick<EventResource, 'type' | 'data'>),
        account_id: accountId,
        created_at: formatWithOffset(createdAt, timeZone),
      }),
      query,
      reply,
    );
  }
}
