/**
 * Defines the API key impact resource of the admin API: recent use of a key. The resource shows what would break if the
 * key were revoked or lost scopes.
 */
import { z } from 'zod';
import type { ApiKeyImpact, SecretLastUse } from '../../accounts/api-key-impact.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { countField, idField, timeField as time } from '../openapi/fields.js';

const date = z.iso.date().max(10);
const lastUse = {
  last_used_at: time.nullable().meta({ description: 'Accurate to a minute. Null if no use was recorded.' }),
  last_used_ip: z.string().max(45).nullable().meta({ description: 'Source address of the last request.' }),
};
const scopes = z.array(z.string().max(200));

export const apiKeyImpactSchema = z
  .object({
    api_key_id: idField('key'),
    last_day: z
      .object({
        from: date,
        to: date,
        requests: countField,
        operations: z.array(z.object({ operation: z.string().max(200), requests: countField })).max(50),
      })
      .meta({ description: 'Admitted requests of today and yesterday by operation, most frequent first.' }),
    current_secret: z.object({ created_at: time, ...lastUse }).nullable(),
    old_secret: z
      .object({ created_at: time, expires_at: time, ...lastUse })
      .nullable()
      .meta({ description: 'The previous secret during the overlap of a rotation.' }),
    scopes_since: date.meta({
      description: 'Start of the period for the next two fields: 30 days ago, or the creation of the key.',
    }),
    scopes_used: scopes.meta({ description: "Scopes that the key's requests in this period needed." }),
    scopes_unused_30d: scopes
      .max(100)
      .meta({ description: 'Scopes of the key that no request in this period needed.' }),
    oauth_grant: z
      .object({
        scopes: scopes.meta({ description: 'The granted scopes. The key can have any of them.' }),
        latest_expires_at: time.nullable().meta({ description: 'The latest possible expiration; null: any.' }),
      })
      .nullable()
      .meta({
        description: "The widest scopes and expiration of an OAuth client's key; null: the key has a secret.",
      }),
  })
  .meta({ id: 'ApiKeyImpact' });

export type ApiKeyImpactResource = z.output<typeof apiKeyImpactSchema>;

/** Returns the impact resource of a key. Times have the offset of the account's time zone. */
export function apiKeyImpactResource(
  keyId: string,
  { recent, currentSecret, oldSecret, since, usedScopes, unusedScopes, grant }: ApiKeyImpact,
  timeZone: string,
): ApiKeyImpactResource {
  const at = (ms: number): string => formatWithOffset(ms, timeZone);
  const secretResource = ({ createdAt, lastUsedAt, lastUsedIp }: SecretLastUse) => ({
    created_at: at(createdAt),
    last_used_at: lastUsedAt === null ? null : at(lastUsedAt),
    last_used_ip: lastUsedIp,
  });
  return {
    api_key_id: keyId,
    last_day: { ...recent, operations: [...recent.operations] },
    current_secret: currentSecret === null ? null : secretResource(currentSecret),
    old_secret: oldSecret === null ? null : { ...secretResource(oldSecret), expires_at: at(oldSecret.expiresAt ?? 0) },
    scopes_since: since,
    scopes_used: [...usedScopes],
    scopes_unused_30d: [...unusedScopes],
    oauth_grant: grant && {
      scopes: [...grant.scopes],
      latest_expires_at: grant.latestExpiresAt === null ? null : at(grant.latestExpiresAt),
    },
  };
}
