/** Defines the sign-in resources of the admin API: sign-in methods, results of a sign-in, and single-use links. */
import { z } from 'zod';
import { emailField, localeField, passwordField } from '../../members/member-fields.js';
import type { LinkDescription } from '../../members/sign-in/link-use.js';
import { nameField } from '../../records/account-fields.js';
import { ROLES } from '../../members/permissions.js';
import { encode } from '../openapi/encode.js';
import { timeField } from '../openapi/fields.js';
import { meSchema } from '../me/me.resource.js';

export const signInMethodsSchema = z
  .object({
    password: z.boolean(),
    passkey: z.boolean(),
    providers: z.array(z.object({ id: z.string().max(100), label: z.string().max(200) })).max(100),
    mail: z
      .boolean()
      .meta({ description: 'Whether links are sent by email, or handed over by the person who creates them.' }),
    first_owner: z
      .boolean()
      .meta({ description: 'There is no operator yet. The log of the start contains the sign-in link.' }),
  })
  .meta({ id: 'SignInWays' });

export type SignInMethodsResource = z.output<typeof signInMethodsSchema>;

export const signInWithPasswordSchema = z
  .strictObject({ email: z.string().min(1, 'must not be empty').max(320), password: passwordField })
  .meta({ id: 'SignInWithPassword' });

export type SignInWithPassword = z.output<typeof signInWithPasswordSchema>;

const SECOND_FACTORS = ['totp', 'recovery_code'] as const;

export const signInSchema = z
  .object({
    state: z.enum(['signed_in', 'second_factor']),
    me: meSchema.optional().meta({ description: 'Present if `signed_in`.' }),
    ways: z.array(z.enum(SECOND_FACTORS)).max(10).optional().meta({ description: 'Present if `second_factor`.' }),
    expires_at: timeField.optional().meta({ description: 'When the sign-in expires without the second factor.' }),
  })
  .meta({ id: 'SignIn' });

export type SignInResource = z.output<typeof signInSchema>;

export const linkToken = z.string().max(200).meta({ description: 'The part of the link after the `#`.' });

export const readLinkSchema = z.strictObject({ token: linkToken }).meta({ id: 'ReadLink' });

export const takeLinkSchema = z
  .strictObject({
    token: linkToken,
    email: emailField.optional().meta({ description: 'For the first member of an installation.' }),
    name: nameField
      .optional()
      .meta({ description: 'For a new member. Without it, the signed-in member accepts the invitation.' }),
    password: passwordField.optional().meta({ description: 'The new password, if `ways` contains it.' }),
    locale: localeField.optional(),
  })
  .meta({ id: 'TakeLink' });

export type TakeLink = z.output<typeof takeLinkSchema>;

const factorSchema = z
  .object({
    type: z.enum(['passkey', 'identity', 'totp']),
    name: z.string().max(254).meta({ description: 'Name of the passkey, or email address of the identity.' }),
    issuer: z.string().max(2_000).nullable().meta({ description: 'The identity provider.' }),
    created_at: timeField,
    last_used_at: timeField.nullable(),
    is_removed: z.boolean().meta({ description: 'Whether using the link removes it.' }),
  })
  .meta({ id: 'LinkFactor' });

export const linkSchema = z
  .object({
    kind: z.enum(['first_owner', 'invitation', 'password_reset', 'email_verification', 'start', 'portal']),
    account_name: z.string().max(200).nullable(),
    email: z.string().max(254).nullable(),
    role: z.enum(ROLES).nullable(),
    expires_at: timeField,
    ways: z
      .array(z.enum(['password', 'name', 'provider', 'sign_in']))
      .max(10)
      .meta({
        description:
          'Ways to use the link; one is enough. `password`: a new password, with a name for a new member. ' +
          '`name`: only a name. `provider`: sign-in at a provider that verified the address. `sign_in`: ' +
          'the session of a member. Empty: nothing is needed.',
      }),
    factors: z.array(factorSchema).max(1_100).meta({
      description: 'For a password reset: other sign-in methods of the member. Empty for other links.',
    }),
  })
  .meta({ id: 'Link' });

export type LinkResource = z.output<typeof linkSchema>;

/**
 * Returns the API resource of a link. A password reset removes all factors of the member except an authenticator app.
 */
export function linkResource(link: LinkDescription): LinkResource {
  const factors = link.factors.map((factor) => ({ ...factor, isRemoved: factor.type !== 'totp' }));
  return encode(linkSchema, { ...link, factors }, 'UTC');
}
