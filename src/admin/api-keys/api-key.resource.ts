/** API key resource of the admin API. It contains the secret only in the response that creates it. */
import { z } from 'zod';
import type { ListedApiKey } from '../../accounts/api-key-list.js';
import { shownKeySettings, shownSettingsOf } from '../../accounts/api-key-fields.js';
import type { ApiKey, LetInClient } from '../../accounts/api-key-rows.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { perPeriod } from '../../platform/quotas/windows.js';
import { countField, idField, timeField as time, versionField } from '../openapi/fields.js';
import { listSchema } from '../request/list.js';

/** Prefix, 30 base62 characters and a 6-character checksum. */
const SECRET_PATTERN = /^tg_(?:live|test)_[0-9A-Za-z]{36}$/;

export const apiKeySchema = z
  .object({
    id: idField('key'),
    account_id: idField('acc'),
    ...shownKeySettings,
    status: z.enum(['active', 'paused', 'expired', 'revoked']).meta({
      description: 'A paused key is refused with 403 `key_paused` until it goes on.',
    }),
    hint: z
      .string()
      .max(20)
      .meta({ description: 'Prefix and last four characters of the secret.', example: 'tg_live_…a1b2' }),
    previous_secret_expires_at: time.nullable().meta({
      description: 'When the secret before the last rotation stops working; null: only the current secret works.',
    }),
    expires_at: time.nullable(),
    limits: z
      .object(perPeriod(() => countField.nullable().optional()))
      .nullable()
      .meta({
        description:
          "Limits in the place of the plan's, null in it for none; a window that is not named, and null, are the " +
          "plan's.",
      }),
    last_used_at: time.nullable().meta({ description: 'Written in batches, so a few seconds late.' }),
    created_at: time,
    updated_at: time,
    revoked_at: time.nullable(),
    version: versionField,
    oauth_client: z
      .object({
        id: z.string().max(2_048),
        name: z.string().max(200).meta({ description: 'What it says of itself: nobody has checked it.' }),
        host: z
          .string()
          .max(255)
          .nullable()
          .meta({ description: 'Where it is at home; null: it has registered, and anybody may take its name.' }),
        let_in_by: z
          .string()
          .max(200)
          .nullable()
          .meta({
            description:
              "The member who let it in, by name; null: the operators' token did, or the member is forgotten. Portal " +
              'sessions are not told.',
          }),
      })
      .nullable()
      .meta({
        description: 'The OAuth client that was let in by it, and alone has its access tokens; null: it has a secret.',
      }),
  })
  .meta({ id: 'ApiKey' });

const secret = z
  .string()
  .regex(SECRET_PATTERN)
  .max(44)
  .meta({ description: 'The only time that the secret is shown. It is stored as a hash.' });

export const apiKeyWithSecretSchema = apiKeySchema.extend({ secret }).meta({ id: 'ApiKeyWithSecret' });

export const rotatedApiKeySchema = apiKeySchema
  .extend({
    secret,
    previous_secret_expires_at: time.meta({ description: 'Until then the previous secret works, too.' }),
  })
  .meta({ id: 'RotatedApiKey' });

const listedApiKeySchema = apiKeySchema
  .extend({
    month_used: countField.meta({
      description: 'What it has used of the month, as the counters last wrote it: a few seconds late.',
    }),
    month_limit: countField.nullable().meta({ description: 'Its own limit of the month; null where it has none.' }),
  })
  .meta({ id: 'ListedApiKey' });

export const apiKeyListSchema = listSchema('ApiKeyList', listedApiKeySchema);

export type ApiKeyResource = z.output<typeof apiKeySchema>;
export type ListedApiKeyResource = z.output<typeof listedApiKeySchema>;
export type ApiKeyWithSecretResource = z.output<typeof apiKeyWithSecretSchema>;
export type RotatedApiKeyResource = z.output<typeof rotatedApiKeySchema>;

/** Names no members: for keys without an OAuth client, and for callers who must not see members. */
export const NO_MEMBERS: ReadonlyMap<string, string> = new Map();

/**
 * Formats times with the offset of the account's time zone.
 * @param members names of the members who authorized OAuth clients, by id.
 */
export function apiKeyResource(
  key: ApiKey,
  timeZone: string,
  members: ReadonlyMap<string, string> = NO_MEMBERS,
): ApiKeyResource {
  const at = (ms: number | null): string | null => (ms === null ? null : formatWithOffset(ms, timeZone));
  return {
    id: key.id,
    account_id: key.accountId,
    ...shownSettingsOf(key),
    status: key.status,
    hint: key.hint,
    previous_secret_expires_at: at(key.previousSecretExpiresAt),
    expires_at: at(key.expiresAt),
    last_used_at: at(key.lastUsedAt),
    created_at: formatWithOffset(key.createdAt, timeZone),
    updated_at: formatWithOffset(key.updatedAt, timeZone),
    revoked_at: at(key.revokedAt),
    version: key.version,
    oauth_client: key.oauthClient && clientResource(key.oauthClient, members),
  };
}

/** Returns a key as a row of a list, with its usage this month. */
export function listedApiKeyResource(
  key: ListedApiKey,
  timeZone: string,
  members: ReadonlyMap<string, string>,
): ListedApiKeyResource {
  return { ...apiKeyResource(key, timeZone, members), month_used: key.monthUsed, month_limit: key.monthLimit };
}

function clientResource(
  { id, name, memberId }: LetInClient,
  members: ReadonlyMap<string, string>,
): NonNullable<ApiKeyResource['oauth_client']> {
  // The id of a client with a metadata document is the URL of that document. Registered clients have a generated id.
  const url = URL.parse(id);
  const host = url?.protocol === 'https:' ? url.host : null;
  return { id, name, host, let_in_by: memberId === null ? null : (members.get(memberId) ?? null) };
}
