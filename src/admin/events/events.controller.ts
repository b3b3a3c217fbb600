/**
 * Lists the events of an account, newest first, and reads single events, for owners and admins. Webhooks deliver the
 * same events.
 */
import { Controller, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { AccountStore } from '../../accounts/accounts.js';
import { eventTypeField, instantField } from '../../webhooks/endpoints/endpoint-fields.js';
import type { Event } from '../../outbox/event-types.js';
import { EventOutbox } from '../../outbox/outbox.js';
import { inPath, ResourceOfAccount } from '../access/requested-resource.js';
import { listBody, listSchema, pageQuerySchema, type ListBody } from '../request/list.js';
import { encode } from '../openapi/encode.js';
import { idField, timeField as instant } from '../openapi/fields.js';
import { Operation } from '../openapi/operation-decorator.js';

const eventSchema = z
  .object({
    id: idField('evt').meta({ description: 'Also the `webhook-id` of its deliveries.' }),
    type: z.string().max(100).meta({ example: 'quota.threshold_reached' }),
    account_id: idField('acc'),
    source: z.string().max(100).meta({
      description: '`trailgate`, `emits` (created for an operation with `emits`), `test`, or the name of a service.',
    }),
    resource: z.string().max(200).nullable().meta({ description: 'The resource that the event is about, if known.' }),
    data: z
      .record(z.string().max(100), z.unknown())
      .nullable()
      .meta({ description: 'Payload. Its fields depend on the event type.' }),
    occurred_at: instant,
    created_at: instant.meta({ description: 'When the event was received.' }),
  })
  .meta({ id: 'Event' });

const eventListSchema = listSchema('EventList', eventSchema);

type EventResource = z.output<typeof eventSchema>;

const eventQuerySchema = pageQuerySchema.extend({
  type: eventTypeField.optional().meta({ description: 'Filters by event type.' }),
  resource: z.string().min(1).max(200).optional().meta({ description: 'Filters by resource.' }),
  since: instantField.optional().meta({ description: 'Only events created at this time or later.' }),
  until: instantField.optional().meta({ description: 'Only events created at this time or earlier.' }),
});

@Controller()
export class AccountEventsController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly outbox: EventOutbox,
  ) {}

  @Operation('listEvents', eventListSchema)
  async list(
    @Param('id') accountId: string,
    @Query({ schema: eventQuerySchema }) query: z.output<typeof eventQuerySchema>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBody<EventResource>> {
    const { timeZone } = await this.accounts.get(accountId);
    const { since, until, ...rest } = query;
    const [sinceMs, untilMs] = [since, until].map((time) => (time === undefined ? undefined : Date.parse(time)));
    const page = await this.outbox.list({ ...rest, accountId, sinceMs, untilMs });
    return listBody(page, (event) => eventResource(event, timeZone), query, reply);
  }
}

@Controller()
@ResourceOfAccount('event', inPath)
export class EventsController {
  constructor(
    private readonly accounts: AccountStore,
    private readonly outbox: EventOutbox,
  ) {}

  @Operation('getEvent', eventSchema)
  async get(@Param('id') id: string): Promise<EventResource> {
    const event = await this.outbox.get(id);
    return eventResource(event, (await this.accounts.get(event.accountId)).timeZone);
  }
}

function eventResource(event: Event, timeZone: string): EventResource {
  return encode(eventSchema, { ...event, data: event.data as EventResource['data'] }, timeZone);
}
