/**
 * Fields of an API key that callers of the admin API can set: request schemas, database columns and response values.
 * The store, the audit log and the API description use them too. `CONTRIBUTING.md` lists the steps to add a field.
 */
import { z } from 'zod';
import { NETWORK_MESSAGES } from '../config/model/address-values.js';
import { LARGEST_LIMIT } from '../config/model/plan-schema.js';
import { SCOPE_PATTERN } from '../config/model/values.js';
import { networkFault, plainNetwork } from '../platform/network-list.js';
import { limitsJson, parseLimits, parseStrings } from '../keys/api-key-columns.js';
import { perPeriod, WINDOW_PERIODS } from '../platform/quotas/windows.js';
import type { KeyLimits } from '../quota/model/effective-limits.js';
import {
  externalFields,
  metadataJson,
  parseMetadata,
  shownExternalFields,
  type Metadata,
} from '../records/external-fields.js';
import { nameField } from '../records/account-fields.js';
import type { ApiKeyTable } from '../stores/database/schema.js';
import { searchText } from '../stores/database/search/search-text.js';

const scopes = z
  .array(z.string().max(200).regex(SCOPE_PATTERN, 'must be resource:verb, for example customers:read'))
  .min(1, 'must name at least one scope')
  .max(100)
  .overwrite((list) => [...new Set(list)])
  .meta({ description: 'Permissions of the key; see the list of scopes.', example: ['customers:read'] });

export const allowedIps = z
  .array(
    z
      .union(
        [z.ipv4().max(15), z.ipv6().max(39), z.cidrv4().max(18), z.cidrv6().max(43)],
        'must be an address or a block such as 203.0.113.0/24',
      )
      .superRefine((text, context) => {
        const fault = networkFault(text);
        if (fault === undefined) return;
        // Only a mapped block with a prefix of 33 to 95 has no suggestion. The schemas above reject syntax errors.
        const instead = fault.instead ?? 'the block as IPv4';
        context.addIssue({ code: 'custom', message: `${NETWORK_MESSAGES[fault.reason]}: write ${instead}` });
      }),
  )
  .max(100)
  .overwrite((list) => [...new Set(list.map(plainNetwork))])
  .meta({ description: 'Allowed IP addresses and blocks; empty: any.', example: ['203.0.113.0/24'] });

const expiresAt = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2027-01-31T23:59:59+01:00' })
  .max(40)
  .nullable()
  .meta({ description: 'When the key expires (RFC 3339); null: never.' });

const limit = z
  .int('must be a whole number, or null for no limit')
  .min(0, 'must not be negative')
  .max(LARGEST_LIMIT, `must be at most ${LARGEST_LIMIT}`)
  .nullable()
  .optional();

const limits = z
  .strictObject(perPeriod((_, words) => limit.meta({ description: `Requests of the key ${words}; null: no limit.` })))
  .nullable()
  // Convert an object without limits to null. The key then has all limits of its plan.
  .overwrite((given) =>
    given === null || WINDOW_PERIODS.every((period) => given[period] === undefined) ? null : given,
  )
  .meta({
    description:
      "Limits that replace the plan's for this key. Missing windows, and null for the whole field, " +
      "use the plan's limits.",
    example: { minute: 300 },
  });

const external = externalFields('within its account');

export const createApiKeySchema = z
  .strictObject({
    name: nameField,
    scopes,
    environment: z.enum(['live', 'test']).default('live'),
    expires_at: expiresAt.default(null),
    allowed_ips: allowedIps.default([]),
    limits: limits.default(null),
    external_id: external.external_id.optional(),
    metadata: external.metadata.optional(),
  })
  .meta({ id: 'CreateApiKey' });

export const updateApiKeySchema = z
  .strictObject({ name: nameField, scopes, expires_at: expiresAt, allowed_ips: allowedIps, limits, ...external })
  .partial()
  .meta({ id: 'UpdateApiKey' });

/**
 * KeySettings holds the fields of a key that callers can set, except the expiration. The fields have the names of the
 * API.
 */
export interface KeySettings {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly environment: 'live' | 'test';
  readonly allowed_ips: readonly string[];
  /** Limits that replace the plan's limits. Null: the key has all limits of its plan. */
  readonly limits: KeyLimits | null;
  readonly external_id: string | null;
  readonly metadata: Metadata;
}

/**
 * Reads the settings of a key from its row. The store compares the audited fields of a key to detect changes. So every
 * field that callers can set must be here or in `auditedKey`.
 */
export function settingsOf(row: ApiKeyTable): KeySettings {
  return {
    name: row.name,
    scopes: parseStrings(row.scopes),
    environment: row.environment,
    allowed_ips: parseStrings(row.allowed_ips),
    limits: parseLimits(row.limits),
    external_id: row.external_id,
    metadata: parseMetadata(row.metadata),
  };
}

/**
 * Returns the database columns of the given fields. Undefined fields are omitted, so that an update leaves their
 * columns unchanged.
 */
export function columnsOf(fields: CreateApiKey): SettingColumns;
export function columnsOf(fields: UpdateApiKey): Partial<SettingColumns>;
export function columnsOf(fields: UpdateApiKey & Partial<Pick<CreateApiKey, 'environment'>>): Partial<SettingColumns> {
  const { name, scopes, environment, expires_at, allowed_ips, limits, external_id, metadata } = fields;
  const columns = {
    name,
    search: name === undefined ? undefined : searchText(name),
    scopes: scopes === undefined ? undefined : JSON.stringify(scopes),
    environment,
    expires_at: typeof expires_at === 'string' ? Date.parse(expires_at) : expires_at,
    allowed_ips: allowed_ips === undefined ? undefined : JSON.stringify(allowed_ips),
    limits: limits === undefined ? undefined : limitsJson(limits),
    external_id,
    metadata: metadata === undefined ? undefined : metadataJson(metadata),
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}

/** SettingColumns holds the columns that `columnsOf` writes. */
type SettingColumns = Pick<
  ApiKeyTable,
  'name' | 'search' | 'scopes' | 'environment' | 'expires_at' | 'allowed_ips' | 'limits'
> &
  Partial<Pick<ApiKeyTable, 'external_id' | 'metadata'>>;

/** Returns the settings as the admin API shows them. */
export function shownSettingsOf(settings: KeySettings) {
  const { name, scopes, environment, allowed_ips, limits, external_id, metadata } = settings;
  return { name, scopes: [...scopes], environment, allowed_ips: [...allowed_ips], limits, external_id, metadata };
}

/** Response schemas of the settings, except `limits`. */
export const shownKeySettings = {
  name: z.string().max(200),
  scopes: z.array(z.string().max(200)).max(100),
  environment: z.enum(['live', 'test']),
  allowed_ips: z.array(z.string().max(43)).max(100).meta({ description: 'Empty: any address.' }),
  ...shownExternalFields,
};

/** Allowed overlaps of a rotation, in seconds: none, one hour, one day, one week. */
export const OVERLAPS_SECONDS = [0, 3_600, 86_400, 604_800] as const;

/** Schema of `end_previous_secret`, for the rotations of keys and of webhook endpoints. */
export const endPreviousSecret = z
  .boolean()
  .default(false)
  .meta({
    description:
      'Ends a previous secret whose overlap has not passed. Without it, the rotation is rejected with ' +
      '409 `previous_secret_active`. Has no effect with an overlap of 0, which ends all other secrets.',
  });

export const rotateApiKeySchema = z
  .strictObject({
    overlap_seconds: z
      .union(
        OVERLAPS_SECONDS.map((seconds) => z.literal(seconds)),
        'must be 0, 3600 (an hour), 86400 (a day) or 604800 (a week)',
      )
      .meta({
        description: 'How long the current secret keeps working, in seconds. 0: it stops immediately.',
      }),
    end_previous_secret: endPreviousSecret,
  })
  .meta({ id: 'RotateApiKey' });

export type CreateApiKey = z.output<typeof createApiKeySchema>;
export type UpdateApiKey = z.output<typeof updateApiKeySchema>;
export type RotateApiKey = z.input<typeof rotateApiKeySchema>;
export type OverlapSeconds = (typeof OVERLAPS_SECONDS)[number];
