/**
 * Schemas of the account fields that clients can set. The admin API, its description and the store share these schemas.
 */
import { z } from 'zod';
import { externalFields } from './external-fields.js';
import { isWellFormed, NOT_WELL_FORMED, plainText } from './plain-text.js';

/**
 * Pattern of display names. Excludes control characters, and bidirectional controls, which can make a name look like
 * another. Allows the marks that right-to-left scripts need (U+200E, U+200F, U+061C).
 */
const PLAIN_NAME = /^[^\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]*$/;

/**
 * Characters without a visible glyph: control and format characters, spaces, fillers, combining marks, and blank
 * Braille.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/**
 * Reports whether a name is visible. No one could see a link with an invisible name. Accepts the empty text, because
 * `min` reports that error.
 */
const isVisible = (text: string): boolean => text === '' || text.replaceAll(INVISIBLE, '') !== '';

/**
 * Display name of an account, key or member: trimmed, visible, without control characters or bidirectional controls.
 */
export const nameField = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(200, 'must be at most 200 characters')
  .regex(PLAIN_NAME, 'must not contain control characters, nor marks that turn text around')
  .refine(isWellFormed, NOT_WELL_FORMED)
  .refine(isVisible, 'must have a character that can be seen')
  .meta({ description: 'Display name, 1 to 200 characters.', example: 'Salzach Rafting' });

/**
 * Returns the name of a time zone in its usual case, or undefined if the time zone does not exist. Offsets such as
 * `+01:00` are not time zones.
 */
function canonicalTimeZone(name: string): string | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    // `Intl` replaces an alias with another name, such as Asia/Kolkata with Asia/Calcutta. Return the alias as written.
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
    description: 'IANA time zone for months and reset times.',
    example: 'Europe/Vienna',
  });

const billingDay = z.int().min(1).max(31).meta({
  description: 'Day of the month on which the billing period starts; in shorter months, the last day.',
});

const plan = plainText(100).min(1).meta({ description: 'Name of a plan of the configuration.', example: 'starter' });

const status = z
  .enum(['active', 'suspended'])
  .meta({ description: 'Requests of a suspended account are rejected with 403.' });

const external = externalFields('among accounts');

export const createAccountSchema = z
  .strictObject({
    name: nameField,
    plan,
    time_zone: timeZone.default('UTC'),
    billing_day: billingDay.default(1),
    external_id: external.external_id.optional(),
    metadata: external.metadata.optional(),
  })
  .meta({ id: 'CreateAccount' });

export const updateAccountSchema = z
  .strictObject({ name: nameField, plan, time_zone: timeZone, billing_day: billingDay, status, ...external })
  .partial()
  .meta({ id: 'UpdateAccount' });

export const deleteAccountSchema = z
  .strictObject({
    name: z.string().max(200).meta({ description: 'The name of the account, repeated as a confirmation.' }),
  })
  .meta({ id: 'DeleteAccount' });

export type DeleteAccount = z.output<typeof deleteAccountSchema>;
export type CreateAccount = z.output<typeof createAccountSchema>;
export type UpdateAccount = z.output<typeof updateAccountSchema>;
