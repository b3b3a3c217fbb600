/** Messages for invalid values: what is required and what was found, without the terms of zod. */
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import './plain-words.js';

describe('a wrong value', () => {
  it.each<[z.ZodType, unknown, string]>([
    [z.int().min(1), 0, 'must be at least 1, not 0'],
    [z.int().max(100), 101, 'must be at most 100, not 101'],
    [z.number().gt(0), 0, 'must be more than 0, not 0'],
    [z.number().lt(1), 1, 'must be less than 1, not 1'],
    [z.int(), 1.5, 'must be a whole number, not 1.5'],
    [z.number(), 'ten', 'must be a number, not a string'],
    [z.string(), 7, 'must be a string, not 7'],
    [z.string(), undefined, 'is missing'],
    [z.boolean(), 'yes', 'must be true or false, not a string'],
    [z.object({}), [], 'must be an object, not a list'],
    [z.array(z.string()), {}, 'must be a list, not an object'],
    [z.string().min(1), '', 'must not be empty'],
    [z.string().max(3), 'abcd', 'must have at most 3 characters, not 4'],
    [z.array(z.int()).min(1), [], 'must not be an empty list'],
    [z.array(z.int()).max(1), [1, 2], 'must have at most 1 entries, not 2'],
    [z.enum(['a', 'b']), 'c', 'must be one of a, b'],
    [z.literal('a'), 'b', 'must be a'],
    [z.int().multipleOf(5), 7, 'must be a multiple of 5'],
    [z.string(), null, 'must be a string, not null'],
  ])('has a plain message: %#', (schema, value, words) => {
    expect(schema.safeParse(value).error?.issues[0]?.message).toBe(words);
  });

  it('is not repeated in the message, because it could be a secret', () => {
    const schema = z.object({ a: z.int(), b: z.enum(['x']), c: z.string().max(3), d: z.boolean(), e: z.email() });
    const wrong = { a: 'hunter2', b: 'hunter2', c: 'hunter2', d: 'hunter2', e: 'hunter2' };
    expect(JSON.stringify(schema.safeParse(wrong).error?.issues.map(({ message }) => message))).not.toContain(
      'hunter2',
    );
  });
});
