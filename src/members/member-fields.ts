/**
 * Schemas of the member fields that clients can set. The admin API, its description and the store share these schemas.
 */
import { z } from 'zod';
import { nameField } from '../records/account-fields.js';
import { emailAddress } from '../config/model/mail-values.js';

/** The languages of the panel. */
export const LOCALES = ['en', 'es'] as const;
export type Locale = (typeof LOCALES)[number];

/**
 * Size limit of password fields in requests, in UTF-16 code units. Greater than `LONGEST_PASSWORD`, so that
 * `password-rules.ts` can explain what is wrong with a password.
 */
const LONGEST_INPUT = 1_000;

export const emailField = emailAddress.meta({ description: 'Email address.', example: 'ana@example.com' });
export const localeField = z.enum(LOCALES).meta({ description: 'Language of the panel and of emails.' });

/** Password as the user entered it, before `password-rules.ts` checks it. */
export const passwordField = z.string().min(1, 'must not be empty').max(LONGEST_INPUT);

export const updateMeSchema = z
  .strictObject({ name: nameField, locale: localeField.nullable() })
  .partial()
  .meta({ id: 'UpdateMe' });

export type UpdateMe = z.output<typeof updateMeSchema>;

/** Normalizes an email address for lookup. The result is trimmed, in Unicode form NFC, and in lower case. */
export function emailKeyOf(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}

export const createMemberSchema = z
  .strictObject({
    email: emailField,
    name: nameField,
    is_operator: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether the member has full access to every account.' }),
  })
  .meta({ id: 'CreateMember' });

export const updateMemberSchema = z
  .strictObject({
    name: nameField,
    is_operator: z.boolean(),
    status: z
      .enum(['active', 'disabled'])
      .meta({ description: 'Disabled members are signed out with their next request.' }),
  })
  .partial()
  .meta({ id: 'UpdateMember' });

export type CreateMember = z.output<typeof createMemberSchema>;
export type UpdateMember = z.output<typeof updateMemberSchema>;
