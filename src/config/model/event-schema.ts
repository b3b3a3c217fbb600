/** Defines the schema of `events` in `gateway.yaml`. */
import { z } from 'zod';

/** Matches names of event types, which are lower-case words separated by dots, at most 100 characters long. */
export const EVENT_TYPE_PATTERN = /^(?=.{1,100}$)[a-z0-9_]+(\.[a-z0-9_]+)+$/;

const typeName = z
  .string()
  .regex(/^[a-z0-9_]+(\.[a-z0-9_]+)+$/, 'must be resource.verb, for example customer.created')
  .max(100, 'must have at most 100 characters');

const eventType = z.strictObject({
  schema: z.string().min(1).optional().describe('JSON Schema (2020-12) file for its data, relative to this file.'),
  description: z.string().max(1_000).optional().describe('Description for integrators.'),
  example: z.string().min(1).optional().describe('Example data, as a file relative to this file.'),
});

/** Validates `events`, which is a list of names or a map of names to schemas. */
export const events = z
  .union(
    [z.array(typeName).max(1_000), z.record(typeName, eventType)],
    'must be a list of at most 1,000 names such as customer.created, or a map of such names with their schemas',
  )
  .default([])
  .describe('Event types that backends can send: names, or a map of name to `schema`, `description`, `example`.');
