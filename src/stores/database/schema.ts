/**
 * Row types of all tables. The tables are the same on SQLite and PostgreSQL and use text, integer and bigint only. JSON
 * is stored as text, times as milliseconds since the Unix epoch. The types must match `migrations.ts`.
 */
import type { MailTable } from './tables/mail-table.js';
import type { Generated } from 'kysely';
import type { OAuthObjectTable } from './tables/oauth-table.js';
import type { MemberTables } from './tables/member-tables.js';
import type { WebhookTables } from './tables/webhook-tables.js';

export interface AccountTable {
  /** `acc_…` */
  id: string;
  name: string;
  plan: string;
  /** IANA time zone. */
  time_zone: string;
  /** From 1 to 31. */
  billing_day: number;
  status: 'active' | 'suspended';
  /** Label of the month that `grant_amount` applies to; 0 for none. */
  grant_period: number;
  /** Additional requests beyond the account's month limit: the sum of the month's grants. */
  grant_amount: number;
  created_at: number;
  updated_at: number;
  /** Incremented with every change by a person. */
  version: number;
  /** ID in the system of the operator, unique. */
  external_id: string | null;
  /** JSON object of texts. Null for no entries. */
  metadata: string | null;
}

/** An account whose deletion has begun. The row stays for an hour, because other processes may still write its data. */
export interface AccountDeletionTable {
  account_id: string;
  begun_at: number;
  /** JSON list of the keys that the account had. */
  key_ids: string | null;
}

export interface ApiKeyTable {
  /** `key_…` */
  id: string;
  account_id: string;
  name: string;
  /** JSON array of scopes. */
  scopes: string;
  environment: 'live' | 'test';
  status: 'active' | 'paused' | 'revoked';
  expires_at: number | null;
  /** JSON array of addresses and CIDR blocks. Empty allows any address. */
  allowed_ips: string;
  /** `tg_live_…a1b2`: prefix and last four characters, for display. */
  hint: string;
  /** JSON (`KeyLimits`). Null uses the limits of the plan. */
  limits: string | null;
  /** The same as `account`, for the key's own month limit. */
  grant_period: number;
  grant_amount: number;
  last_used_at: number | null;
  created_at: number;
  updated_at: number;
  revoked_at: number | null;
  /** Version of the row, as in `account`. */
  version: number;
  /** Normalized name for search and sorting; see `searchText`. */
  search: string;
  /** OAuth client whose access tokens are the key's secrets. Null for ordinary keys. */
  oauth_client_id: string | null;
  oauth_client_name: string | null;
  /** Member who authorized the client. Null if it was the operator token. */
  oauth_member_id: string | null;
  /** Expiry of the secret before the last rotation, possibly in the past. Null if there is none. */
  previous_secret_expires_at: number | null;
  /** ID in the system of the operator, unique in the account. */
  external_id: string | null;
  /** Operator metadata, as in `account`. */
  metadata: string | null;
}

/** A valid secret of a key; two during a rotation. Only the hash is stored. */
export interface ApiKeySecretTable {
  /** SHA-256 of the whole secret, lower-case hex. */
  hash: string;
  api_key_id: string;
  created_at: number;
  /** End of the rotation period. Null for the current secret. */
  expires_at: number | null;
  last_used_at: number | null;
  last_used_ip: string | null;
  /** 1 if another system has made the secret. Null otherwise. */
  is_foreign: number | null;
}

/** Month counters as last flushed. A restart or an emptied Redis continues from them. */
export interface QuotaCounterTable {
  account_id: string;
  /** Empty for the account's own counter. */
  api_key_id: string;
  /** First day of the month in the account's zone, for example 20261101. */
  period: number;
  used: number;
  /** The day on which the count was observed, for example 20261120, and what had been used of it. 0 if unknown. */
  day: Generated<number>;
  day_used: Generated<number>;
  /**
   * When an operator last set the count, in milliseconds of the counter store's clock. Older observations are ignored.
   * 0 if never.
   */
  set_at: Generated<number>;
  /** When the count was observed, in milliseconds of the counter store's clock, plus microseconds. */
  observed_at: Generated<number>;
  observed_us: Generated<number>;
  updated_at: number;
}

/** Changes by operators to usage and limits of a month. Append-only. */
export interface QuotaAdjustmentTable {
  /** `adj_…` */
  id: string;
  account_id: string;
  /** Empty for the account's own window. */
  api_key_id: string;
  period: number;
  period_ends_at: number;
  type: 'grant' | 'set' | 'reset';
  /** Null for `reset`. */
  amount: number | null;
  reason: string;
  /** Actor, as in the audit log. */
  actor: string;
  created_at: number;
}

/** Usage of one key and operation on one day. The costs of a month add up to its counter. */
export interface UsageDailyTable {
  account_id: string;
  /** Day in the account's zone, for example 20261120. */
  day: number;
  /** Empty if the row is a change to the account's own counter. */
  api_key_id: string;
  /** Operation ID. Empty if unknown. */
  operation: string;
  /** First day of the month, as in `quota_counter`. */
  period: number;
  outcome: string;
  requests: number;
  /** Cost, as counted in the counters. */
  cost: number;
  updated_at: number;
}

/** Requests that were admitted and had not ended at the last flush of their process. */
export interface UsageInFlightTable {
  node: string;
  account_id: string;
  day: number;
  api_key_id: string;
  operation: string;
  period: number;
  requests: number;
  cost: number;
}

/** A process that writes usage. */
export interface UsageNodeTable {
  id: string;
  batch: number;
  updated_at: number;
  /** When the process was found to be gone; 0 if it has written since. */
  buried_at: number;
}

/** Audit log: every change made through the admin API. Append-only. */
export interface AuditEntryTable {
  /** `aud_…`, sorted by time. */
  id: string;
  /** Null if the change belongs to no account. */
  account_id: string | null;
  /** `operator`, `system`, or the ID of a member or account token. */
  actor: string;
  /** `api_key.created`, `account.updated`, … */
  action: string;
  target_type: string;
  target_id: string;
  /** JSON without secrets. */
  before: string | null;
  after: string | null;
  ip: string;
  request_id: string;
  created_at: number;
  /** Version of the target after the change. Null if the target type has no versions. */
  target_version: number | null;
  /** Name of the actor, which stays readable after they are gone. */
  actor_label: string | null;
}

/** Facts about this installation, such as who seeded it. */
export interface InstallationTable {
  name: string;
  value: string;
}

/** Last statement of each node, if there is no Redis. */
export interface NodeStatementTable {
  /** Node ID. */
  id: string;
  said_at: number;
  /** JSON. */
  statement: string;
}

/** Requests with an `Idempotency-Key`, if there is no Redis. */
export interface IdempotentRequestTable {
  /** API key, or an actor of the audit log for a request to the admin API. */
  api_key_id: string;
  /** SHA-256 of the `Idempotency-Key`, base64url. */
  key_hash: string;
  /** SHA-256 of method, path, query and content type, base64url; on the admin API also of the body. */
  fingerprint: string;
  /** Process that has claimed the request. */
  owner: string;
  /** End of the owner's lease. 0 if the request is done, or its outcome is unknown. */
  leased_until: number;
  /** Status of the response. Null until there is one. */
  status: number | null;
  /** SHA-256 of the request body, base64url. Empty if the body was not read completely. */
  body_hash: string | null;
  /**
   * Error code of the response, empty if it has none. Null, like the next two columns, if the response is not stored.
   */
  code: string | null;
  /** Field lines of the response, each with its CRLF. */
  fields: string | null;
  /** Response body, base64. */
  body: string | null;
  expires_at: number;
}

/** Request log. A row is one ended request, or several that it represents. PostgreSQL has one partition per day. */
export interface RequestLogTable {
  account_id: string;
  /** Day in UTC, for example 20261122. */
  day: number;
  at: number;
  /** Process that wrote the row, and the row's sequence number there. */
  node: string;
  seq: number;
  /** Chosen by the client in some cases, so not unique. */
  request_id: string;
  api_key_id: string;
  /** Empty if unknown, as are `route` and `code`. */
  operation: string;
  method: string;
  route: string;
  status: number;
  code: string;
  duration_us: number;
  bytes_in: number;
  bytes_out: number;
  ip: string;
  /** Number of requests that the row represents. */
  weight: number;
  /** How the request came in: `rest` or `mcp`. */
  source: string;
  /** Called tool, or empty. */
  tool: string;
}

export interface Tables extends MemberTables, WebhookTables {
  /** `search`: normalized name for search and sorting; see `searchText`. */
  account: AccountTable & { search: Generated<string> };
  account_deletion: AccountDeletionTable;
  api_key: ApiKeyTable;
  api_key_secret: ApiKeySecretTable;
  quota_counter: QuotaCounterTable;
  quota_adjustment: QuotaAdjustmentTable;
  usage_daily: UsageDailyTable;
  usage_in_flight: UsageInFlightTable;
  usage_node: UsageNodeTable;
  audit_entry: AuditEntryTable;
  installation: InstallationTable;
  node_statement: NodeStatementTable;
  request_log: RequestLogTable;
  idempotent_request: IdempotentRequestTable;
  mail: MailTable;
  oauth_object: OAuthObjectTable;
}
