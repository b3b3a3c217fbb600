/**
 * Defines the schemas of import lines. The schemas of accounts, keys and webhook endpoints extend the schemas of the
 * admin API.
 */
import { z } from 'zod';
import { createApiKeySchema, updateApiKeySchema } from '../accounts/api-key-fields.js';
import { LARGEST_LIMIT } from '../config/model/plan-schema.js';
import { ROLES } from '../members/permissions.js';
import { isForeignSecret, isOwnFormat, isWellFormedSecret } from '../keys/api-key-format.js';
import { createAccountSchema, nameField, updateAccountSchema } from '../records/account-fields.js';
import type { IdPrefix } from '../stores/database/ids.js';
import { emailField, localeField } from '../members/member-fields.js';
import { createWebhookEndpointSchema } from '../webhooks/endpoints/endpoint-fields.js';
import { plainText } from '../records/plain-text.js';

/** Returns the schema of an ID with a prefix. */
export const idField = (prefix: IdPrefix) =>
  z.string().regex(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{25}$`), `must be an ID that Trailgate made (${prefix}_…)`);

/** Schema of an RFC 3339 time, which becomes milliseconds since the epoch. */
export const timeField = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2027-01-31T23:59:59+01:00' })
  .transform((text) => Date.parse(text));

/** A field that exports contain and imports ignore. */
const ignored = z.unknown().optional();

/** Fields of both accounts and keys. */
const recordFields = { type: z.string(), created_at: timeField.optional(), updated_at: ignored, version: ignored };

const accountFields = { ...recordFields, id: idField('acc').optional() };

export const newAccountLine = createAccountSchema.extend({
  ...accountFields,
  status: z.enum(['active', 'suspended'], 'must be active or suspended').default('active'),
});
export const changedAccountLine = updateAccountSchema.extend(accountFields);

const sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/i, 'must be 64 hexadecimal digits: the SHA-256 of the whole secret')
  .toLowerCase();

const secret = z.string().refine((text) => isWellFormedSecret(text) || isForeignSecret(text), {
  error: ({ input }) =>
    typeof input === 'string' && isOwnFormat(input)
      ? 'begins like a secret of Trailgate, but does not have its checksum'
      : 'must be 16 to 200 of A-Z, a-z, 0-9 and - . _ ~ + /, with = only at its end',
});

const keyFields = {
  ...recordFields,
  id: idField('key').optional(),
  account_id: idField('acc').optional(),
  account_external_id: plainText(200).optional(),
  secret: secret.optional(),
  secret_sha256: sha256.nullable().optional(),
  previous_secret_sha256: sha256.optional(),
  /** True if another system has created the previous secret. */
  previous_secret_is_foreign: z.boolean().default(false),
  previous_secret_expires_at: timeField.nullable().optional(),
  // A hint is the visible part of a secret. A hint in Trailgate's format must begin with `tg_live_` or `tg_test_`.
  hint: plainText(20)
    .refine((text) => !isOwnFormat(text) || /^tg_(?:live|test)_/.test(text), {
      error: 'begins like a secret of Trailgate, but no such secret can be used',
    })
    .optional(),
  status: z.enum(['active', 'paused', 'expired', 'revoked'], 'must be active, paused, expired or revoked').optional(),
  last_used_at: timeField.nullable().optional(),
  revoked_at: timeField.nullable().optional(),
};

export const newKeyLine = createApiKeySchema.extend(keyFields);
export const changedKeyLine = updateApiKeySchema.extend({ ...keyFields, environment: ignored });

const count = z.int('must be a whole number').min(0, 'must not be negative').max(LARGEST_LIMIT);
const month = z.iso.date('must be the first day of a month, such as 2026-11-01');

/** Returns the label of a month from its first day. `2026-11-01` becomes 20261101. */
export function labelOfMonth(day: string): number {
  return Number(day.replaceAll('-', ''));
}

/** Returns the first day of a month from its label. 20261101 becomes `2026-11-01`. */
export function monthOfLabel(label: number): string {
  return String(label).replace(/^(....)(..)/, '$1-$2-');
}

export const monthCountLine = z.strictObject({
  type: z.string(),
  account_id: idField('acc'),
  api_key_id: idField('key').nullable().default(null),
  month,
  used: count,
});

export const adjustmentLine = z.strictObject({
  type: z.string(),
  id: idField('adj'),
  account_id: idField('acc'),
  api_key_id: idField('key').nullable().default(null),
  window: z.literal('month'),
  adjustment: z.enum(['grant', 'set', 'reset'], 'must be grant, set or reset'),
  amount: count.nullable(),
  reason: plainText(500),
  actor: plainText(100),
  month,
  period_ends_at: timeField,
  created_at: timeField,
});

export const memberLine = z.strictObject({
  type: z.string(),
  id: idField('mem').optional(),
  email: emailField,
  email_verified: z.boolean().default(false),
  name: nameField,
  is_operator: z.boolean().default(false),
  status: z.enum(['active', 'disabled'], 'must be active or disabled').default('active'),
  locale: localeField.nullable().default(null),
  accounts: z
    .array(z.strictObject({ account_id: idField('acc'), role: z.enum(ROLES, `must be one of ${ROLES.join(', ')}`) }))
    .default([]),
  created_at: timeField.optional(),
});

/** A text that was encrypted with `TRAILGATE_SECRETS_KEY`, as in the database. */
const encrypted = z.string().max(1_000);

export const endpointLine = createWebhookEndpointSchema.omit({ secret: true }).extend({
  type: z.string(),
  id: idField('whe'),
  account_id: idField('acc'),
  status: z.enum(['enabled', 'paused', 'disabled'], 'must be enabled, paused or disabled').default('enabled'),
  disabled_reason: z.enum(['failing', 'gone', 'operator']).nullable().default(null),
  created_at: timeField.optional(),
  signing_secrets: z
    .array(
      z.strictObject({
        id: idField('whs'),
        secret: encrypted,
        seed: encrypted,
        public_key: plainText(100),
        fingerprint: plainText(100),
        created_at: timeField,
        expires_at: timeField.nullable(),
      }),
    )
    .min(1, 'must hold a secret')
    .max(10),
});

export type NewAccountLine = z.output<typeof newAccountLine>;
export type ChangedAccountLine = z.output<typeof changedAccountLine>;
export type NewKeyLine = z.output<typeof newKeyLine>;
export type ChangedKeyLine = z.output<typeof changedKeyLine>;
