/** Lists the event types that webhook endpoints can subscribe to. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { EventCatalogue } from '../../outbox/event-catalogue.js';
import { Operation } from '../openapi/operation-decorator.js';
import { listSchema, type ListBody } from '../request/list.js';

const eventTypeSchema = z
  .object({
    type: z.string().max(100).meta({ example: 'customer.created' }),
    description: z.string().max(2_000).nullable(),
    schema: z
      .record(z.string().max(100), z.unknown())
      .nullable()
      .meta({ description: 'Schema of `data`, JSON Schema 2020-12; null without one.' }),
    example: z.unknown().meta({ description: 'Example of `data`; null without one.' }),
    source: z.enum(['gateway', 'configuration']).meta({ description: 'Whether the gateway itself emits the event.' }),
  })
  .meta({ id: 'EventType' });

type EventTypeResource = z.output<typeof eventTypeSchema>;

const eventTypeListSchema = listSchema('EventTypeList', eventTypeSchema, false);

@Controller()
export class EventTypesController {
  constructor(private readonly catalogue: EventCatalogue) {}

  @Operation('listEventTypes', eventTypeListSchema)
  list(): ListBody<EventTypeResource> {
    const data = this.catalogue.listTypes().map((each): EventTypeResource => {
      return { ...each, schema: each.schema as EventTypeResource['schema'] };
    });
    return { data, has_more: false, next_cursor: null };
  }
}
