/** The schema of what the public listener does about clients, known or not: part of `schema.ts`. */
import { z } from 'zod';

export const failedAuthentication = z
  .strictObject({
    perMinute: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(20)
      .describe('Wrong keys from one address (IPv6: one /64) in a minute before it gets 429; 0: no throttle.'),
  })
  .prefault({})
  .describe('The throttle of addresses that try keys.');
