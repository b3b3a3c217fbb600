/** What an account may be given from outside: one schema for the admin API, its description and the store. */
import { z } from 'zod';

/** Without \P{Cc}: not every validator that reads the admin API's description knows Unicode properties. */
const PLAIN_TEXT = /^[^\u0000-\u001f\u007f-\u009f]*$/;

/**
 * Nor what turns the text behind it around: with it, a name could look like another. The marks that right-to-left
 * scripts need beside their letters (U+200E, U+200F, U+061C) are taken.
 */
const PLAIN_NAME = /^[^\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]*$/;

/** Half of a character (a lone surrogate of UTF-16) is kept by no database: what is read would not be what was sent. */
const isWhole = (text: string): boolean => text.isWellFormed();
const NOT_WHOLE = 'must not contain half a character (a lone surrogate)';

/** What leaves no mark by itself: spaces, joiners, fillers, marks on no letter, Braille without a dot. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** A name that nobody sees is a link that nobody finds. Of one that is empty its length is told. */
const isVisible = (text: string): boolean => text === '' || text.replaceAll(INVISIBLE, '') !== '';

/** Text of one line; no name or id of ours has a control character. */
export function plainText(maxLength: number): z.ZodString {
  return z.string().max(maxLength).regex(PLAIN_TEXT, 'must not contain control characters').refine(isWhole, NOT_WHOLE);
}

/** A name for people: trimmed, something to see, no control characters, nothing that turns text around. */
export const nameField = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(200, 'must be at most 200 characters')
  .regex(PLAIN_NAME, 'must not contain control characters, nor marks that turn text around')
  .refine(isWhole, NOT_WHOLE)
  .refine(isVisible, 'must have a character that can be seen')
  .meta({ description: 'A name for people, 1 to 200 characters.', example: 'Salzach Rafting' });

/** The zone's usual spelling, or undefined where there is no such zone. Offsets such as `+01:00` are no zones. */
function canonicalTimeZone(name: string): string | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    // An alias (Asia/Kolkata) stays as it was written; only the letters' case is put right.
    return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name;
  } catch {
    return undefined;
  }
}

const timeZone = z
  .string()
  .max(64)
  .refine((name) => canonicalTimeZone(name) !== undefined, 'must be an IANA time zone such as Europe/Vienna')
  .overwrite((name) => canonicalTimeZone(name) ?? name)
  .meta({
    description: 'IANA time zone; months and reset times follow it.',
    example: 'Europe/Vienna',
  });

const billingDay = z.int().min(1).max(31).meta({
  description: 'Day of the month on which the billing period starts; in shorter months the last day.',
});

const plan = plainText(100).min(1).meta({ description: 'Name of a plan of the configuration.', example: 'starter' });

const status = z.enum(['active', 'suspended']).meta({ description: 'A suspended account is refused with 403.' });

export const createAccountSchema = z
  .strictObject({
    name: nameField,
    plan,
    time_zone: timeZone.default('UTC'),
    billing_day: billingDay.default(1),
  })
  .meta({ id: 'CreateAccount' });

export const updateAccountSchema = z
  .strictObject({ name: nameField, plan, time_zone: timeZone, billing_day: billingDay, status })
  .partial()
  .meta({ id: 'UpdateAccount' });

export type CreateAccount = z.output<typeof createAccountSchema>;
export type UpdateAccount = z.output<typeof updateAccountSchema>;
