/**
 * The tables of events and of what they are delivered by. Every row type here matches
 * `migrations/webhooks-migration.ts`.
 */

/** The outbox: what accounts have to be told, before anybody is told. */
export interface EventTable {
  /** `evt_…`, ordered by time. */
  id: string;
  account_id: string;
  /** `quota.threshold_reached`, … */
  type: string;
  /** JSON, as it goes out. */
  data: string;
  /** Unique: what happened once is told once, however many processes notice it. */
  dedupe_key: string;
  /** Who handed it in: `trailgate`, `emits`, or a service's name. */
  source: string;
  /** What it is about; endpoints that want order have it by this. */
  resource: string | null;
  occurred_at: number;
  /** Of what a service handed in; null for the gateway's own. The same name with another one is a conflict. */
  fingerprint: string | null;
  created_at: number;
  /** Forgotten from then on. */
  keep_until: number;
}

/** Where an account wants to be told of its events. */
export interface WebhookEndpointTable {
  /** `whe_…` */
  id: string;
  account_id: string;
  url: string;
  description: string;
  /** JSON array of types, or of families such as `customer.*`; empty: all. */
  event_types: string;
  /** JSON array of seconds; null: the usual schedule. */
  retry_schedule: string | null;
  /** 1: of one resource one delivery after the other. */
  ordered: number;
  /** Null, in this column and the two below: the usual. */
  rate_per_second: number | null;
  concurrency: number | null;
  timeout_ms: number | null;
  status: 'enabled' | 'paused' | 'disabled';
  disabled_reason: 'failing' | 'gone' | 'operator' | null;
  status_changed_at: number;
  /** When the endpoint got its URL; null: before this was recorded. */
  url_set_at: number | null;
  /** The first failed attempt since the last that succeeded. */
  failing_since: number | null;
  /** Failed attempts since then. */
  failures: number;
  last_success_at: number | null;
  /** Grows with every change that a person makes. */
  version: number;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
}

/** What signs the deliveries of an endpoint; during a rotation there are several. */
export interface WebhookSecretTable {
  /** `whs_…` */
  id: string;
  endpoint_id: string;
  /** Sealed. */
  secret: string;
  /** Sealed: what the key pair is made of. */
  seed: string;
  /** `whpk_…`, in the clear. */
  public_key: string;
  /** Keyed hash of the secret, unique: no two endpoints have the same. */
  fingerprint: string;
  created_at: number;
  /** Null: the current one. */
  expires_at: number | null;
}

/** A webhook endpoint as the workers see it. */
export interface WebhookLaneTable {
  endpoint_id: string;
  /** When there is something to do. A hint: the deliveries say what is so. */
  due_at: number;
  /** The process that works on it. */
  owner: string | null;
  /** Until when it does, by the clock of leases; see `events/deliveries/lanes.ts`. */
  owned_until: number;
}

/** One event to one endpoint. */
export interface WebhookDeliveryTable {
  /** `whd_…`, ordered by time. */
  id: string;
  event_id: string;
  endpoint_id: string;
  account_id: string;
  /** `held`: behind another one of its resource. */
  state: 'pending' | 'held' | 'succeeded' | 'failed';
  /** Why it failed for good. */
  reason: 'exhausted' | 'gone' | 'aborted' | 'expired' | 'skipped' | 'endpoint_deleted' | null;
  /** As the event's. */
  resource: string | null;
  /** When it is attempted, while it is pending. */
  due_at: number;
  /** In this cycle. */
  attempts: number;
  /** How often it has been replayed. */
  cycle: number;
  kind: 'event' | 'test';
  created_at: number;
  updated_at: number;
  /** What is open ends then; what has ended is forgotten. */
  keep_until: number;
}

/** One request of a delivery, and what came of it. Not unique by number: what was sent twice is seen twice. */
export interface WebhookAttemptTable {
  /** `wha_…`, ordered by time. */
  id: string;
  delivery_id: string;
  /** From 1 on, in its cycle. */
  number: number;
  cycle: number;
  at: number;
  /** Null: no response. */
  status_code: number | null;
  duration_ms: number;
  /** Why there was no response. */
  error: string | null;
  /** That was connected to. */
  address: string | null;
  /** The first KiB. */
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
