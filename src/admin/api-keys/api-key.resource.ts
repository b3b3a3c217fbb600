/**
 * Defines the API key resources of the admin API. Only the responses that create or rotate a key contain its secret.
 */
import { z } from 'zod';
import type { ListedApiKey } from '../../accounts/api-key-list.js';
import { shownKeySettings, shownSettingsOf } from '../../accounts/api-key-fields.js';
import type { ApiKey, AuthorizedClient } from '../../accounts/api-key-rows.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { perPeriod } from '../../platform/quotas/windows.js';
import { countField, idField, timeField as time, versionField } from '../openapi/fields.js';
import { listSchema } from '../request/list.js';

/** Pattern of a secret: prefix, 30 base62 characters and a 6-character checksum. */
const SECRET_PATTERN = /^tg_(?:live|test)_[0-9A-Za-z]{36}$/;

export const apiKeySchema = z
  .object({
    id: idField('key'),
    account_id: idField('acc'),
    ...shownKeySettings,
    status: z.enum(['active', 'paused', 'expired', 'revoked']).meta({
      description: 'Requests with a paused key get 403 `key_paused` until it is resumed.',
    }),
    hint: z
      .string()
      .max(20)
      .meta({ description: 'Prefix and last four characters of the secret.', example: 'tg_live_…a1b2' }),
    previous_secret_expires_at: time.nullable().meta({
      description: 'When the previous secret expires after a rotation; null: only the current secret works.',
    }),
    expires_at: time.nullable(),
    limits: z
      .object(perPeriod(() => countField.nullable().optional()))
      .nullable()
      .meta({
        description:
          "Limits that replace the plan's; null for no limit. Missing windows, and null for the whole " +
          "field, use the plan's limits.",
      }),
    last_used_at: time.nullable().meta({ description: 'Written in batches, so up to a few seconds late.' }),
    created_at: time,
    updated_at: time,
    revoked_at: time.nullable(),
    version: versionField,
    oauth_client: z
      .object({
        id: z.string().max(2_048),
        name: z.string().max(200).meta({ description: 'Chosen by the client. Not verified.' }),
        host: z
          .string()
          .max(255)
          .nullable()
          .meta({
            description:
              "Host of the client's metadata document; null: the client registered itself, and its name is " +
              'not verified.',
          }),
        authorized_by: z
          .string()
          .max(200)
          .nullable()
          .meta({
            description:
              'Name of the member who authorized the client; null if authorized with the operator token, if ' +
              'the member was erased, and for portal sessions.',
          }),
      })
      .nullable()
      .meta({
        description: "The OAuth client that holds this key's access tokens; null: the key has a secret.",
      }),
  })
  .meta({ id: 'ApiKey' });

const secret = z
  .string()
  .regex(SECRET_PATTERN)
  .max(44)
  .meta({ description: 'The secret, shown only in this response. Only its hash is stored.' });

export const apiKeyWithSecretSchema = apiKeySchema.extend({ secret }).meta({ id: 'ApiKeyWithSecret' });

export const rotatedApiKeySchema = apiKeySchema
  .extend({
    secret,
    previous_secret_expires_at: time.meta({ description: 'The previous secret works until then.' }),
  })
  .meta({ id: 'RotatedApiKey' });

const listedApiKeySchema = apiKeySchema
  .extend({
    month_used: countField.meta({
      description: 'Requests used this month, up to a few seconds old.',
    }),
    month_limit: countField.nullable().meta({ description: "The key's own monthly limit; null without one." }),
  })
  .meta({ id: 'ListedApiKey' });

export const apiKeyListSchema = listSchema('ApiKeyList', listedApiKeySchema);

export type ApiKeyResource = z.output<typeof apiKeySchema>;
export type ListedApiKeyResource = z.output<typeof listedApiKeySchema>;
export type ApiKeyWithSecretResource = z.output<typeof apiKeyWithSecretSchema>;
export type RotatedApiKeyResource = z.output<typeof rotatedApiKeySchema>;

/** Empty map of member names, for keys without an OAuth client, and for callers who must not see members. */
export const NO_MEMBERS: ReadonlyMap<string, string> = new Map();

/**
 * Returns the API resource of a key. Times have the offset of the account's time zone.
 * @param members names of the members who authorized OAuth clients, by member ID
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

/** Returns the API resource of a key in a list, with the usage of this month and the monthly limit of the key. */
export function listedApiKeyResource(
  key: ListedApiKey,
  timeZone: string,
  members: ReadonlyMap<string, string>,
): ListedApiKeyResource {
  return { ...apiKeyResource(key, timeZone, members), month_used: key.monthUsed, month_limit: key.monthLimit };
}

function clientResource(
  { id, name, memberId }: AuthorizedClient,
  members: ReadonlyMap<string, string>,
): NonNullable<ApiKeyResource['oauth_client']> {
  // The ID of a client with a metadata document is the URL of that document. Registered clients have a generated ID.
  const url = URL.parse(id);
  const host = url?.protocol === 'https:' ? url.host : null;
  return { id, name, host, authorized_by: memberId === null ? null : (members.get(memberId) ?? null) };
}
