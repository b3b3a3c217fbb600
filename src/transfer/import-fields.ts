/** Fields of lines beside those of the admin API. */
import { z } from 'zod';
import { createApiKeySchema, updateApiKeySchema } from '../accounts/api-key-fields.js';
import { isForeignSecret, isWellFormedSecret } from '../keys/api-key-format.js';
import { createAccountSchema, updateAccountSchema } from '../records/account-fields.js';
import { plainText } from '../records/plain-text.js';

export const idField = (prefix: 'acc' | 'key') =>
  z.string().regex(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{25}$`), `must be an ID that Trailgate made (${prefix}_…)`);

export const timeField = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2027-01-31T23:59:59+01:00' })
  .transform((text) => Date.parse(text));

/** Written by an export, and not read. */
const unread = z.unknown().optional();

/** Shared by accounts and keys. */
const recordFields = { type: z.string(), created_at: timeField.optional(), updated_at: unread, version: unread };

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
    typeof input === 'string' && input.startsWith('tg_')
      ? 'begins as our own secrets do, and has not their form and checksum'
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
  previous_secret_expires_at: timeField.nullable().optional(),
  hint: plainText(20).optional(),
  status: z.enum(['active', 'paused', 'expired', 'revoked'], 'must be active, paused, expired or revoked').optional(),
  last_used_at: timeField.nullable().optional(),
  revoked_at: timeField.nullable().optional(),
};

export const newKeyLine = createApiKeySchema.extend(keyFields);
export const changedKeyLine = updateApiKeySchema.extend({ ...keyFields, environment: unread });

export type NewAccountLine = z.output<typeof newAccountLine>;
export type ChangedAccountLine = z.output<typeof changedAccountLine>;
export type NewKeyLine = z.output<typeof newKeyLine>;
export type ChangedKeyLine = z.output<typeof changedKeyLine>;
