/** Tables of events and their deliveries. The types must match `migrations/webhooks-migration.ts`. */

/** Outbox: events of accounts that are stored before they are delivered. */
export interface EventTable {
  /** `evt_…`, sorted by time. */
  id: string;
  account_id: string;
  /** `quota.threshold_reached`, … */
  type: string;
  /** JSON as it is delivered. */
  data: string;
  /** Unique, so that an event is recorded once even if several processes notice it. */
  dedupe_key: string;
  /** Source: `trailgate`, `emits`, or the name of a service. */
  source: string;
  /** Resource that the event is about. Ordered endpoints receive events in order per resource. */
  resource: string | null;
  occurred_at: number;
  /**
   * Fingerprint of a service's event. The same `dedupe_key` with another one is a conflict. Null for the gateway's own.
   */
  fingerprint: string | null;
  created_at: number;
  /** The event is deleted after this time. */
  keep_until: number;
}

/** URL to which the events of an account are delivered. */
export interface WebhookEndpointTable {
  /** `whe_…` */
  id: string;
  account_id: string;
  url: string;
  description: string;
  /** JSON array of types, or of families such as `customer.*`. Empty for all. */
  event_types: string;
  /** JSON array of seconds. Null for the default schedule. */
  retry_schedule: string | null;
  /** 1 delivers one event at a time per resource, in order. */
  ordered: number;
  /** Null uses the default, as in the next two columns. */
  rate_per_second: number | null;
  concurrency: number | null;
  timeout_ms: number | null;
  status: 'enabled' | 'paused' | 'disabled';
  disabled_reason: 'failing' | 'gone' | 'operator' | null;
  status_changed_at: number;
  /** When the endpoint got its URL. Null if that was before this column existed. */
  url_set_at: number | null;
  /** First failed attempt since the last success. */
  failing_since: number | null;
  /** Failed attempts since then. */
  failures: number;
  last_success_at: number | null;
  /** Incremented with every change by a person. */
  version: number;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
}

/** Signing secret of an endpoint. There are several during a rotation. */
export interface WebhookSecretTable {
  /** `whs_…` */
  id: string;
  endpoint_id: string;
  /** Sealed. */
  secret: string;
  /** Sealed seed of the key pair. */
  seed: string;
  /** `whpk_…`, not sealed. */
  public_key: string;
  /** Keyed hash of the secret. Unique, so that no two endpoints share a secret. */
  fingerprint: string;
  created_at: number;
  /** Null for the current secret. */
  expires_at: number | null;
}

/** Work queue of a webhook endpoint, as the workers use it. */
export interface WebhookLaneTable {
  endpoint_id: string;
  /** When work may be due. Only a hint; the deliveries are authoritative. */
  due_at: number;
  /** Process that works on the lane. */
  owner: string | null;
  /** End of the owner's lease, by the clock of leases; see `webhooks/deliveries/lanes.ts`. */
  owned_until: number;
}

export interface WebhookDeliveryTable {
  /** `whd_…`, sorted by time. */
  id: string;
  event_id: string;
  endpoint_id: string;
  account_id: string;
  /** `held`: waits for an earlier delivery of the same resource. */
  state: 'pending' | 'held' | 'succeeded' | 'failed';
  /** Why it failed permanently. */
  reason: 'exhausted' | 'gone' | 'aborted' | 'expired' | 'skipped' | 'endpoint_deleted' | null;
  /** Resource of the event. */
  resource: string | null;
  /** When the next attempt is due, while pending. */
  due_at: number;
  /** Number of attempts in this cycle. */
  attempts: number;
  /** Number of replays. */
  cycle: number;
  kind: 'event' | 'test';
  created_at: number;
  updated_at: number;
  /** An open delivery expires at this time; an ended one is deleted. */
  keep_until: number;
}

/** One attempt of a delivery and its result. `number` is not unique, because an attempt may be made twice. */
export interface WebhookAttemptTable {
  /** `wha_…`, sorted by time. */
  id: string;
  delivery_id: string;
  /** Number in its cycle, from 1. */
  number: number;
  cycle: number;
  at: number;
  status_code: number | null;
  duration_ms: number;
  /** Why there was no response. */
  error: string | null;
  /** IP address that was connected to. */
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
