/** Defines the schema of a plan in `gateway.yaml`. */
import { z } from 'zod';
import { perPeriod } from '../../platform/quotas/windows.js';

/**
 * Largest valid limit, which is the largest integer of a structured field (RFC 9651 section 3.3.1). The `RateLimit`
 * header is such a field.
 */
export const LARGEST_LIMIT = 999_999_999_999_999;
// Set the bounds before `int()`. `z.int()` would report its own bounds instead.
const limit = z.number().min(0).max(LARGEST_LIMIT).int();

const windowLimits = z
  .strictObject(perPeriod((_, words) => limit.optional().describe(`Most requests ${words}.`)))
  .describe('Limits per window; a window that is not named is unlimited.');

const shadow = z
  .strictObject({
    key: windowLimits.prefault({}).describe('Candidate limits of each API key.'),
    account: windowLimits.prefault({}).describe('Candidate limits of the account.'),
  })
  .describe('Candidate limits: they count and report what they would refuse, and refuse nothing.');

/** Validates an entry of `plans`. */
export const planSchema = z.strictObject({
  key: windowLimits.prefault({}).describe('Limits of each API key.'),
  account: windowLimits.prefault({}).describe('Limits of the account, all of its keys together.'),
  onRedisLoss: z
    .enum(['local', 'open', 'closed'])
    .default('local')
    .describe('While Redis is unavailable: `local` counts in this process, `open` admits all, `closed` answers 503.'),
  charge: z
    .enum(['all', 'successes'])
    .default('all')
    .describe('`successes`: responses of 400 and above are refunded. `all`: only 502, 503 and 504 are.'),
  shadow: shadow.optional(),
});
