/**
 * Accepts events from the services behind the gateway, for delivery as webhooks. A request is accepted with all its
 * events, or rejected as a whole. Event intake is not part of the admin API, because services authenticate with their
 * own tokens.
 */
import { Body, Controller, HttpCode, Post, Req, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { EventIntake } from '../../webhooks/intake/intake.js';
import { Public } from '../access/public.js';
import { EventsTokenGuard, serviceOf } from './events-token.guard.js';

/** Path of event intake on the admin listener. */
export const INTAKE_PATH = '/internal/v1/events';
/** Maximum size of a request body, in bytes. */
export const MAX_BATCH_BYTES = 1_024 * 1_024;
/** Maximum number of events in a request. */
const MAX_EVENTS = 1_000;

const submittedEventSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9_.:-]{1,100}$/, 'must be 1 to 100 of A-Z, a-z, 0-9 and _ . : -')
    .describe('Your id of the event. Sending the same id again has no effect.'),
  type: z.string().max(100),
  account_id: z.string().max(30),
  data: z.record(z.string(), z.unknown()),
  resource: z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 printable characters without spaces')
    .optional()
    .describe(
      'The resource that the event is about. Ordered endpoints deliver events of one resource in ' + 'sequence.',
    ),
  timestamp: z.iso.datetime({ offset: true, error: 'must be an RFC 3339 time' }).optional(),
});

const batchSchema = z.strictObject({
  events: z
    .array(submittedEventSchema)
    .min(1, 'must have at least one event')
    .max(MAX_EVENTS, `must have at most ${MAX_EVENTS}`),
});

/**
 * AcceptedEvent is the result for one event of a request. `id` is the ID that the service chose, and `event_id` the ID
 * of the stored event.
 */
interface AcceptedEvent {
  readonly id: string;
  readonly event_id: string;
  readonly deliveries: number;
  readonly duplicate: boolean;
}

@Public()
@UseGuards(EventsTokenGuard)
@Controller('internal/v1/events')
export class IntakeController {
  constructor(private readonly intake: EventIntake) {}

  @Post()
  @HttpCode(202)
  async take(
    @Body({ schema: batchSchema }) { events }: z.output<typeof batchSchema>,
    @Req() request: FastifyRequest,
  ): Promise<{ data: AcceptedEvent[] }> {
    const accepted = await this.intake.acceptEvents(serviceOf(request), events);
    const data = events.map(({ id }, index): AcceptedEvent => {
      const { eventId = '', deliveries = 0, isDuplicate = false } = accepted[index] ?? {};
      return { id, event_id: eventId, deliveries, duplicate: isDuplicate };
    });
    return { data };
  }
}
