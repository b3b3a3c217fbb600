/**
 * What the gateway itself has to tell an account. The names and the `data` of events are a
 * contract with whoever receives them.
 */

/** `data` of `quota.threshold_reached`. */
export interface QuotaThresholdReached {
  readonly account_id: string;
  /** Null where the limit is the account's. */
  readonly api_key_id: string | null;
  readonly policy: 'account-month' | 'key-month';
  readonly threshold_percent: 80 | 100;
  readonly limit: number;
  /** When it was noticed: at or beyond the threshold. */
  readonly used: number;
  /** RFC 3339 with the account's offset, as the two below. */
  readonly period_start: string;
  /** The first instant that is no longer in the period. */
  readonly period_end: string;
  /** When the limit is whole again: the period's end. */
  readonly resets_at: string;
}

/** `data` of `api_key.…`. The secret is in none of them. */
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
  /** Of `api_key.revoked` only: `exposed`, its secret was sent in clear text. */
  readonly reason?: 'exposed';
  /** As in the audit log: `operator`, `system`, or the id of a member or token. */
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
    /** Without its query, in which receivers put their tokens. */
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

/** An event of the gateway's own before it has an id and a time. */
export interface NewEvent<Type extends EventType = EventType> {
  readonly type: Type;
  readonly accountId: string;
  readonly data: EventData[Type];
  /** Names what has happened: a second event with this name is none. */
  readonly dedupeKey: string;
  /** What it is about, where endpoints may want to be told of that in order. */
  readonly resource?: string;
  /** An endpoint that is not told of it, for it is what the event is about. */
  readonly exceptEndpointId?: string;
}

/** An event that a service hands in, or that a response stands for. */
export interface ForeignEvent {
  readonly type: string;
  readonly accountId: string;
  /** JSON, as it goes out. */
  readonly dataText: string;
  readonly dedupeKey: string;
  /** The service's name, or `emits`. */
  readonly source: string;
  readonly resource: string | null;
  readonly occurredAtMs: number;
  /** Of all that it says; null where nobody could hand it in twice. */
  readonly fingerprint: string | null;
}

/** An event as it stands in the outbox. */
export interface Event {
  /** `evt_…`, ordered by time. */
  readonly id: string;
  readonly type: string;
  readonly accountId: string;
  readonly data: unknown;
  /** `trailgate`, `emits`, or a service's name. */
  readonly source: string;
  readonly resource: string | null;
  readonly occurredAt: number;
  readonly createdAt: number;
}
