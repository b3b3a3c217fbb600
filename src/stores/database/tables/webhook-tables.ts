/**
 * Defines the row types of events, webhook endpoints and deliveries. The types must match
 * `migrations/webhooks-migration.ts` and later migrations.
 */

/** EventTable is the outbox. Events of accounts are stored in this table before they are delivered. */
export interface EventTable {
  /** `evt_…`, sorted by time. */
  id: string;
  account_id: string;
  /** `quota.threshold_reached`, … */
  type: string;
  /** Data of the event as JSON, exactly as delivered. */
  data: string;
  /** Unique key, so that an event is recorded once even if several processes notice it. */
  dedupe_key: string;
  /**
   * Origin of the event: `trailgate` for the gateway itself, `emits` for events created from responses, otherwise the
   * name of a service.
   */
  source: string;
  /** Resource that the event is about. Ordered endpoints receive events in order per resource. */
  resource: string | null;
  occurred_at: number;
  /**
   * Fingerprint of a service's event. The same `dedupe_key` with another fingerprint is a conflict. Null for events of
   * the gateway itself.
   */
  fingerprint: string | null;
  created_at: number;
  /** The event is deleted after this time. */
  keep_until: number;
}

/** WebhookEndpointTable has the URLs to which events of accounts are delivered. */
export interface WebhookEndpointTable {
  /** `whe_…` */
  id: string;
  account_id: string;
  url: string;
  description: string;
  /** JSON array of event types, or of families such as `customer.*`. Empty for all types. */
  event_types: string;
  /** JSON array of pauses between attempts, in seconds. Null for the default schedule. */
  retry_schedule: string | null;
  /** 1 if the events of each resource are delivered one at a time, in order. */
  ordered: number;
  /** Maximum attempts per second. Null for the default, as in the next two columns. */
  rate_per_second: number | null;
  concurrency: number | null;
  timeout_ms: number | null;
  status: 'enabled' | 'paused' | 'disabled';
  disabled_reason: 'failing' | 'gone' | 'operator' | null;
  status_changed_at: number;
  /** When the endpoint got its URL. Null if that was before this column existed. */
  url_set_at: number | null;
  /** Time of the first failed attempt since the last success. Null if there is none. */
  failing_since: number | null;
  /** Number of failed attempts since the last success. */
  failures: number;
  last_success_at: number | null;
  /** Incremented with every change of settings, secrets or status, also when Trailgate disables the endpoint. */
  version: number;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
}

/** WebhookSecretTable has the signing secrets of endpoints. An endpoint has several during a rotation. */
export interface WebhookSecretTable {
  /** `whs_…` */
  id: string;
  endpoint_id: string;
  /** The secret, encrypted by `SecretBox`. */
  secret: string;
  /** Seed of the signing key pair, encrypted by `SecretBox`. */
  seed: string;
  /** `whpk_…`, the public key, not encrypted. */
  public_key: string;
  /** Keyed hash of the secret. Unique, so that no two endpoints share a secret. */
  fingerprint: string;
  created_at: number;
  /** Null for the current secret. */
  expires_at: number | null;
}

/** WebhookLaneTable has the work queue of each webhook endpoint, called its lane. */
export interface WebhookLaneTable {
  endpoint_id: string;
  /** When a delivery may be due. This time is only a hint. `due_at` of the deliveries is exact. */
  due_at: number;
  /** Process that owns the lane and sends its deliveries. Null without an owner. */
  owner: string | null;
  /** End of the owner's lease, by the clock of leases. See `webhooks/deliveries/rows/lanes.ts`. */
  owned_until: number;
}

export interface WebhookDeliveryTable {
  /** `whd_…`, sorted by time. */
  id: string;
  event_id: string;
  endpoint_id: string;
  account_id: string;
  /** `held` deliveries wait for an earlier delivery of the same resource. */
  state: 'pending' | 'held' | 'succeeded' | 'failed';
  /** Why the delivery failed permanently. Null in other states. */
  reason: 'exhausted' | 'gone' | 'aborted' | 'expired' | 'skipped' | 'endpoint_deleted' | null;
  /** Resource of the event. */
  resource: string | null;
  /** When the next attempt is due, if the delivery is pending. */
  due_at: number;
  /** Number of attempts in the current cycle. A replay starts a new cycle. */
  attempts: number;
  /** Number of times that the delivery was replayed. */
  cycle: number;
  kind: 'event' | 'test';
  created_at: number;
  updated_at: number;
  /** When an open delivery expires, or when an ended delivery is deleted. */
  keep_until: number;
}

/**
 * WebhookAttemptTable has the attempts of deliveries with their results. `number` is not unique, because an attempt may
 * be made twice, for example after a crash.
 */
export interface WebhookAttemptTable {
  /** `wha_…`, sorted by time. */
  id: string;
  delivery_id: string;
  /** Number of the attempt in its cycle, from 1. */
  number: number;
  cycle: number;
  at: number;
  status_code: number | null;
  duration_ms: number;
  /** Error code of an attempt without a response. Null if there was a response. */
  error: string | null;
  /** IP address to which the attempt connected. Null if it connected to none. */
  address: string | null;
  /** First KiB of the response body. */
  response_body: string | null;
}

export interface WebhookTables {
  event: EventTable;
  webhook_endpoint: WebhookEndpointTable;
  webhook_secret: WebhookSecretTable;
  webhook_lane: WebhookLaneTable;
  webhook_delivery: WebhookDeliveryTable;
  webhook_attempt: WebhookAttemptTable;
}
