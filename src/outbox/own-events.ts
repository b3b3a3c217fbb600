/**
 * The event types that the gateway itself produces. Each type has an entry in `EventData` and in `OWN_EVENTS`. Names
 * and `data` are a contract with the receivers of webhooks.
 */
import { MONTH_NAMES, type MonthName } from '../platform/quotas/windows.js';

/** QuotaThresholdReached is the `data` of `quota.threshold_reached`. */
export interface QuotaThresholdReached {
  readonly account_id: string;
  /** Null for a limit of the account. */
  readonly api_key_id: string | null;
  readonly policy: MonthName;
  readonly threshold_percent: 80 | 100;
  readonly limit: number;
  /** Usage when the gateway detected that the threshold was reached. May exceed the threshold. */
  readonly used: number;
  /** Start of the period, in RFC 3339 with the account's UTC offset. The next two fields have the same format. */
  readonly period_start: string;
  /** End of the period, exclusive. */
  readonly period_end: string;
  /** When the limit resets. Same as `period_end`. */
  readonly resets_at: string;
}

/** ApiKeyChanged is the `data` of the `api_key.…` events. It never contains the secret. */
export interface ApiKeyChanged {
  readonly api_key: {
    readonly id: string;
    readonly name: string;
    readonly scopes: readonly string[];
    readonly environment: 'live' | 'test';
    /** Prefix and last four characters of the secret. */
    readonly hint: string;
    readonly status: 'active' | 'paused' | 'revoked';
    /** RFC 3339. Null if the key does not expire. */
    readonly expires_at: string | null;
    readonly external_id: string | null;
    readonly metadata: Readonly<Record<string, string>>;
  };
  /** Present only in `api_key.revoked`: `exposed` if the secret was sent in clear text. */
  readonly reason?: 'exposed';
  /** Actor of the change, as in the audit log: `operator`, `system`, or the ID of a member or token. */
  readonly actor: string;
}

/** AccountStatusChanged is the `data` of `account.suspended`, `account.reactivated` and `account.deleted`. */
export interface AccountStatusChanged {
  readonly account: {
    readonly id: string;
    readonly name: string;
    readonly plan: string;
    readonly status: 'active' | 'suspended';
    readonly external_id: string | null;
    readonly metadata: Readonly<Record<string, string>>;
  };
  readonly actor: string;
}

/** WebhookEndpointState is the `data` of `webhook_endpoint.disabled` and `webhook_endpoint.failing`. */
export interface WebhookEndpointState {
  readonly webhook_endpoint: {
    readonly id: string;
    /** URL of the endpoint without the query, which may contain the receiver's tokens. */
    readonly url: string;
    readonly description: string;
    readonly status: 'enabled' | 'paused' | 'disabled';
    readonly disabled_reason: 'failing' | 'gone' | 'operator' | null;
    /** RFC 3339. Null if the endpoint is not failing. */
    readonly failing_since: string | null;
  };
}

/** EventData maps each event type to its `data`. */
export interface EventData {
  'quota.threshold_reached': QuotaThresholdReached;
  'api_key.created': ApiKeyChanged;
  'api_key.rotated': ApiKeyChanged;
  'api_key.previous_secret_ended': ApiKeyChanged;
  'api_key.paused': ApiKeyChanged;
  'api_key.resumed': ApiKeyChanged;
  'api_key.revoked': ApiKeyChanged;
  'api_key.expiring': ApiKeyChanged;
  'account.suspended': AccountStatusChanged;
  'account.reactivated': AccountStatusChanged;
  'account.deleted': AccountStatusChanged;
  'webhook_endpoint.disabled': WebhookEndpointState;
  'webhook_endpoint.failing': WebhookEndpointState;
}

export type EventType = keyof EventData;

/** OwnEvent is the documentation of one event type of the gateway. */
export interface OwnEvent {
  readonly description: string;
  /** JSON Schema 2020-12 of `data`. */
  readonly schema: object;
  readonly example: object;
}

/** Type of a test event if the caller requests no other type. */
export const TEST_EVENT = 'webhook.test';

/** `source` of test events of any type. Test events report no actual change. */
export const TEST_SOURCE = 'test';

/** Schema of a text. The maximum is far above actual lengths, so that receivers can reserve this much space. */
const text = { type: 'string', maxLength: 2_048 };
const instant = { type: 'string', format: 'date-time', maxLength: 40 };
const instantOrNull = { ...instant, type: ['string', 'null'] };
const count = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
/**
 * Returns the schema of an enum. It includes `type`, because code generators for Java and Go need it next to `enum`.
 */
const oneOf = (...values: readonly string[]): object => ({ type: 'string', enum: values });
const object = (properties: Readonly<Record<string, object>>): object => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
});

/** Schemas of `external_id` and `metadata`, which keys and accounts have. */
const externalProperties = {
  external_id: { ...text, type: ['string', 'null'] },
  metadata: { type: 'object', additionalProperties: text, maxProperties: 50 },
};
const externalExample = { external_id: 'D-20481', metadata: { crm: 'D-20481' } };

const keyProperties = {
  api_key: object({
    id: text,
    name: text,
    scopes: { type: 'array', items: text, maxItems: 100 },
    environment: oneOf('live', 'test'),
    hint: text,
    status: oneOf('active', 'paused', 'revoked'),
    expires_at: instantOrNull,
    ...externalProperties,
  }),
  actor: text,
};
const keySchema = object(keyProperties);
/**
 * Schema of `api_key.revoked`. It adds `reason`, which is present if the key was revoked because its secret was sent in
 * clear text.
 */
const revokedKeySchema = { ...keySchema, properties: { ...keyProperties, reason: oneOf('exposed') } };
const accountSchema = object({
  account: object({
    id: text,
    name: text,
    plan: text,
    status: oneOf('active', 'suspended'),
    ...externalProperties,
  }),
  actor: text,
});

const STATUS_AFTER: Readonly<Record<string, string>> = { paused: 'paused', revoked: 'revoked' };

/**
 * Returns the documentation of the `api_key.…` events.
 * @param descriptions description of each event, by the action on the key.
 */
function keyEvents<Action extends string>(
  descriptions: Readonly<Record<Action, string>>,
): Record<`api_key.${Action}`, OwnEvent> {
  const key = {
    id: 'key_1d2m3kx9v7c4e5f6g7h8j9k0m',
    name: 'Booking site',
    scopes: ['customers:read'],
    environment: 'live',
    hint: 'tg_live_…a1b2',
    ...externalExample,
  };
  const events = Object.entries<string>(descriptions).map(([action, description]): [string, OwnEvent] => {
    const expiry = { expires_at: action === 'expiring' ? '2026-11-29T10:00:00.000Z' : null };
    const status = STATUS_AFTER[action] ?? 'active';
    const actor = action === 'expiring' ? 'system' : 'mem_1d2m3kx9v7c4e5f6g7h8j9k0m';
    return [
      `api_key.${action}`,
      {
        description,
        schema: action === 'revoked' ? revokedKeySchema : keySchema,
        example: { api_key: { ...key, status, ...expiry }, actor },
      },
    ];
  });
  return Object.fromEntries(events) as Record<`api_key.${Action}`, OwnEvent>;
}

function accountExample(status: 'active' | 'suspended'): object {
  return {
    account: { id: 'acc_1d2m3kx9v7c4e5f6g7h8j9k0m', name: 'Isar Rafting', plan: 'starter', status, ...externalExample },
    actor: 'operator',
  };
}

const endpointSchema = object({
  webhook_endpoint: object({
    id: text,
    url: text,
    description: text,
    status: oneOf('enabled', 'paused', 'disabled'),
    disabled_reason: { ...text, type: ['string', 'null'], description: '`failing`, `gone`, `operator`, or null.' },
    failing_since: instantOrNull,
  }),
});

function endpointExample(status: 'enabled' | 'disabled'): object {
  const known = { id: 'whe_1d2m3kx9v7c4e5f6g7h8j9k0m', url: 'https://shop.example.com/hooks', description: 'Shop' };
  const reason = status === 'disabled' ? 'failing' : null;
  return {
    webhook_endpoint: { ...known, status, disabled_reason: reason, failing_since: '2026-11-01T10:00:00.000Z' },
  };
}

/**
 * OWN_EVENTS documents each event type of the gateway, including the test event. `npm run panel:words` copies the
 * marked sentences into the panel's translation catalogs.
 */
export const OWN_EVENTS: Readonly<Record<string, OwnEvent>> = {
  'quota.threshold_reached': {
    description:
      /*i18n*/ 'Monthly usage reached 80 or 100 percent of a limit. Sent once per threshold, limit and period.',
    schema: object({
      account_id: text,
      api_key_id: { ...text, type: ['string', 'null'] },
      policy: oneOf(...MONTH_NAMES),
      threshold_percent: { type: 'integer', format: 'int32', enum: [80, 100], minimum: 80, maximum: 100 },
      limit: count,
      used: count,
      period_start: instant,
      period_end: instant,
      resets_at: instant,
    }),
    example: {
      account_id: 'acc_1d2m3kx9v7c4e5f6g7h8j9k0m',
      api_key_id: null,
      policy: 'account-month',
      threshold_percent: 80,
      limit: 10_000,
      used: 8_000,
      period_start: '2026-11-01T00:00:00+01:00',
      period_end: '2026-12-01T00:00:00+01:00',
      resets_at: '2026-12-01T00:00:00+01:00',
    },
  },
  ...keyEvents({
    created: /*i18n*/ 'An API key was created.',
    rotated: /*i18n*/ 'An API key was rotated. The previous secret may keep working for a while.',
    previous_secret_ended: /*i18n*/ 'The previous secret of an API key was ended early.',
    paused: /*i18n*/ 'An API key was paused. Requests are rejected until it is resumed.',
    resumed: /*i18n*/ 'An API key was resumed.',
    revoked: /*i18n*/ 'An API key was revoked.',
    expiring: /*i18n*/ 'An API key expires within a week (sent again one day before).',
  }),
  'account.suspended': {
    description: /*i18n*/ 'The account was suspended. Its keys are rejected.',
    schema: accountSchema,
    example: accountExample('suspended'),
  },
  'account.reactivated': {
    description: /*i18n*/ 'The account is active again.',
    schema: accountSchema,
    example: accountExample('active'),
  },
  'account.deleted': {
    description: /*i18n*/ 'The account was deleted. Its endpoints receive nothing after this event.',
    schema: accountSchema,
    example: accountExample('suspended'),
  },
  'webhook_endpoint.failing': {
    description: /*i18n*/ 'Another endpoint has been failing for a day. It will be disabled after five.',
    schema: endpointSchema,
    example: endpointExample('enabled'),
  },
  'webhook_endpoint.disabled': {
    description: /*i18n*/ 'Another endpoint was disabled after five days of failures or a 410 response.',
    schema: endpointSchema,
    example: endpointExample('disabled'),
  },
  [TEST_EVENT]: {
    description: /*i18n*/ 'A test event sent to this endpoint only.',
    schema: object({ message: text }),
    example: { message: 'This is a test event. Nothing has happened.' },
  },
} satisfies Readonly<Record<EventType | typeof TEST_EVENT, OwnEvent>>;
