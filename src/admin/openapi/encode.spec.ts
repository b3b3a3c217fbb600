/** Results of `encode`. */
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { encode } from './encode.js';
import { countField, timeField } from './fields.js';

const AT = Date.UTC(2026, 10, 1, 12);

const schema = z
  .object({
    time_zone: z.string(),
    created_at: timeField.meta({ description: 'When it was made.' }),
    last_used_at: timeField.nullable(),
    is_paused: z.boolean(),
    public_keys: z.array(z.object({ key: z.string(), expires_at: timeField.nullable() })),
    month_used: countField.nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'EncodedForATest' });

it('encodes snake-case names, times with the zone offset, and only schema fields, in schema order', () => {
  const value = {
    secretHash: 'left out',
    data: { fooBar: AT },
    monthUsed: 0,
    publicKeys: [
      { key: 'a', expiresAt: AT, kind: 'left out' },
      { key: 'b', expiresAt: null },
    ],
    isPaused: false,
    lastUsedAt: null,
    createdAt: AT,
    timeZone: 'Europe/Vienna',
  };
  expect(JSON.stringify(encode(schema, value, 'Europe/Vienna'))).toBe(
    JSON.stringify({
      time_zone: 'Europe/Vienna',
      created_at: '2026-11-01T13:00:00+01:00',
      last_used_at: null,
      is_paused: false,
      public_keys: [
        { key: 'a', expires_at: '2026-11-01T13:00:00+01:00' },
        { key: 'b', expires_at: null },
      ],
      month_used: 0,
      data: { fooBar: AT },
    }),
  );
});

it('writes a value that its own schema accepts', () => {
  const value = {
    timeZone: 'UTC',
    createdAt: AT,
    lastUsedAt: AT + 1,
    isPaused: true,
    publicKeys: [],
    monthUsed: null,
    data: {},
  };
  expect(schema.safeParse(encode(schema, value, 'America/St_Johns')).success).toBe(true);
});
