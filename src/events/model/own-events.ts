/** What the gateway's own events are, for those who choose what to be told: in words, as a schema, as an example. */

/** An event of the gateway's own, described. */
export interface OwnEvent {
  readonly description: string;
  /** Of `data`, JSON Schema 2020-12. */
  readonly schema: object;
  readonly example: object;
}

/** What a test sends unless another type is asked for. */
export const TEST_EVENT = 'webhook.test';

/** Whose events tests are, whatever their type: nothing has happened. */
export const TEST_SOURCE = 'test';

const text = { type: 'string' };
const instant = { type: 'string', format: 'date-time' };
const object = (properties: Readonly<Record<string, object>>): object => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
});

/** By type. */
export const OWN_EVENTS: Readonly<Record<string, OwnEvent>> = {
  'quota.threshold_reached': {
    description: 'A month is used up to 80 or 100 percent: once for each threshold, limit and period.',
    schema: object({
      account_id: text,
      api_key_id: { type: ['string', 'null'] },
      policy: { enum: ['account-month', 'key-month'] },
      threshold_percent: { enum: [80, 100] },
      limit: { type: 'integer' },
      used: { type: 'integer' },
      period_start: instant,
      period_end: instant,
      resets_at: instant,
    }),
    example: {
      account_id: 'acc_1d2m3kx9v7c4e5f6g7h8j9k0m',
      api_key_id: null,
      policy: 'account-month',
      threshold_percent: 80,
      limit: 10_000,
      used: 8_000,
      period_start: '2026-11-01T00:00:00+01:00',
      period_end: '2026-12-01T00:00:00+01:00',
      resets_at: '2026-12-01T00:00:00+01:00',
    },
  },
  [TEST_EVENT]: {
    description: 'Somebody has sent a test to this endpoint, and to no other.',
    schema: object({ message: text }),
    example: { message: 'This is a test. Nothing has happened.' },
  },
};
