/** Types of the gateway's own events. Their names and `data` are a contract with receivers. */

/** `data` of `quota.threshold_reached`. */
export interface QuotaThresholdReached {
  readonly account_id: string;
  /** Null for a limit of the account. */
  readonly api_key_id: string | null;
  readonly policy: 'account-month' | 'key-month';
  readonly threshold_percent: 80 | 100;
  readonly limit: number;
  /** Usage when the threshold was noticed, at or above it. */
  readonly used: number;
  /** RFC 3339 with the account's UTC offset, as in the next two fields. */
  readonly period_start: string;
  /** End of the period, exclusive. */
  readonly period_end: string;
  /** When the limit resets: the end of the period. */
  readonly resets_at: string;
}

/** `data` of `api_key.…`. Never contains the secret. */
export interface ApiKeyChanged {
  readonly api_key: {
    readonly id: string;
    readonly name: string;
    readonly scopes: readonly string[];
    readonly environment: 'live' | 'test';
    /** Prefix and last four characters of the secret. */
    readonly hint: string;
    readonly status: 'active' | 'paused' | 'revoked';
    /** RFC 3339. */
    readonly expires_at: string | null;
  };
  /** Only in `api_key.revoked`: `exposed` if the secret was sent in clear text. */
  readonly reason?: 'exposed';
  /** As in the audit log: `operator`, `system`, or the ID of a member or token. */
  readonly actor: string;
}

/** `data` of `account.suspended` and `account.reactivated`. */
export interface AccountStatusChanged {
  readonly account: {
    readonly id: string;
    readonly name: string;
    readonly plan: string;
    readonly status: 'active' | 'suspended';
  };
  readonly actor: string;
}

/** `data` of `webhook_endpoint.disabled` and `webhook_endpoint.failing`. */
export interface WebhookEndpointState {
  readonly webhook_endpoint: {
    readonly id: string;
    /** Without its query, which may contain the receiver's tokens. */
    readonly url: string;
    readonly description: string;
    readonly status: 'enabled' | 'paused' | 'disabled';
    readonly disabled_reason: 'failing' | 'gone' | 'operator' | null;
    /** RFC 3339. */
    readonly failing_since: string | null;
  };
}

/** `data` by the type of the event. */
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
  'webhook_endpoint.disabled': WebhookEndpointState;
  'webhook_endpoint.failing': WebhookEndpointState;
}

export type EventType = keyof EventData;

/** An event of the gateway before it has an ID and a time. */
export interface NewEvent<Type extends EventType = EventType> {
  readonly type: Type;
  readonly accountId: string;
  readonly data: EventData[Type];
  /** Identifies what has happened. A second event with the same key is ignored. */
  readonly dedupeKey: string;
  /** Resource that the event is about. Ordered endpoints receive events in order per resource. */
  readonly resource?: string;
  /** Endpoint that does not receive the event, because the event is about it. */
  readonly exceptEndpointId?: string;
}

/** An event that a service has submitted, or that was emitted for a response. */
export interface ForeignEvent {
  readonly type: string;
  readonly accountId: string;
  /** JSON as it is delivered. */
  readonly dataText: string;
  readonly dedupeKey: string;
  /** Name of the service, or `emits`. */
  readonly source: string;
  readonly resource: string | null;
  readonly occurredAtMs: number;
  /** Hash of the content. Null if the event cannot be submitted twice. */
  readonly fingerprint: string | null;
}

export interface Event {
  /** `evt_…`, sorted by time. */
  readonly id: string;
  readonly type: string;
  readonly accountId: string;
  readonly data: unknown;
  /** `trailgate`, `emits`, or the name of a service. */
  readonly source: string;
  readonly resource: string | null;
  readonly occurredAt: number;
  readonly createdAt: number;
}
