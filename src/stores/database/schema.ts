/**
 * Defines the row types of all tables. The tables are the same on SQLite and PostgreSQL, and have only columns of the
 * types text, integer and bigint. JSON is stored as text. Times are stored as milliseconds since the Unix epoch. The
 * types must match `migrations.ts`.
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
  /** First day of the billing month, from 1 to 31. */
  billing_day: number;
  status: 'active' | 'suspended';
  /** First day of the month that `grant_amount` applies to, for example 20261101. 0 for no month. */
  grant_period: number;
  /** Requests that operators have granted in addition to the account's month limit. The sum of the month's grants. */
  grant_amount: number;
  created_at: number;
  updated_at: number;
  /** Incremented with every change by a person. */
  version: number;
  /** ID of the account in the operator's own system, unique. */
  external_id: string | null;
  /** JSON object with texts as values. Null if there are no entries. */
  metadata: string | null;
}

/**
 * AccountDeletionTable has accounts whose deletion has begun. A row is kept for an hour, because other processes may
 * still write data of the account.
 */
export interface AccountDeletionTable {
  account_id: string;
  begun_at: number;
  /** JSON array of the IDs of the account's keys. */
  key_ids: string | null;
  /**
   * JSON array of the account's name and the email addresses of its members. Null once no stored response contains
   * them.
   */
  texts: string | null;
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
  /** JSON array of allowed addresses and CIDR blocks. An empty array allows any address. */
  allowed_ips: string;
  /** `tg_live_…a1b2`, the prefix and the last four characters of the secret, for display. */
  hint: string;
  /** JSON (`KeyLimits`). Null if the key has the limits of the plan. */
  limits: string | null;
  /** Grants for the key's own month limit, as in `account`. */
  grant_period: number;
  grant_amount: number;
  last_used_at: number | null;
  created_at: number;
  updated_at: number;
  revoked_at: number | null;
  /** Version of the row, as in `account`. */
  version: number;
  /** Normalized name for search and sorting. See `searchText`. */
  search: string;
  /** OAuth client whose access tokens are the key's secrets. Null for ordinary keys. */
  oauth_client_id: string | null;
  oauth_client_name: string | null;
  /** Member who authorized the client. Null if the operator token authorized the client, and for ordinary keys. */
  oauth_member_id: string | null;
  /** Expiry of the secret that the last rotation replaced, possibly in the past. Null if there is none. */
  previous_secret_expires_at: number | null;
  /** ID of the key in the operator's own system, unique in the account. */
  external_id: string | null;
  /** Metadata, as in `account`. */
  metadata: string | null;
}

/** ApiKeySecretTable has the secrets of keys. A key has two during a rotation. Only hashes are stored. */
export interface ApiKeySecretTable {
  /** SHA-256 of the complete secret, lower-case hex. */
  hash: string;
  api_key_id: string;
  created_at: number;
  /** Time at which a replaced secret stops working. Null for the current secret. */
  expires_at: number | null;
  last_used_at: number | null;
  last_used_ip: string | null;
  /** 1 if another system has created the secret. Null otherwise. */
  is_foreign: number | null;
}

/**
 * QuotaCounterTable has the month counters as last flushed. Counting continues from them after a restart or if Redis
 * was emptied.
 */
export interface QuotaCounterTable {
  account_id: string;
  /** Empty for the account's own counter. */
  api_key_id: string;
  /** First day of the month in the account's zone, for example 20261101. */
  period: number;
  used: number;
  /**
   * Day on which the count was observed, for example 20261120. `day_used` is the usage of that day. Both are 0 if
   * unknown.
   */
  day: Generated<number>;
  day_used: Generated<number>;
  /**
   * When an operator last set the count, in milliseconds of the counter store's clock. 0 if never. Observations before
   * that time are ignored.
   */
  set_at: Generated<number>;
  /** When the count was observed, in milliseconds of the counter store's clock. `observed_us` adds microseconds. */
  observed_at: Generated<number>;
  observed_us: Generated<number>;
  updated_at: number;
}

/** QuotaAdjustmentTable has the changes of operators to usage and limits of a month. Rows are never changed. */
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

/**
 * UsageDailyTable has the usage of one key and operation on one day, by outcome. The costs of a month add up to its
 * counter.
 */
export interface UsageDailyTable {
  account_id: string;
  /** Day in the account's zone, for example 20261120. */
  day: number;
  /** Empty if the row changes only the account's own counter. */
  api_key_id: string;
  /** Operation ID. Empty if unknown. */
  operation: string;
  /** First day of the month, as in `quota_counter`. */
  period: number;
  outcome: string;
  requests: number;
  /** Cost, as the counters count it. */
  cost: number;
  updated_at: number;
}

/** UsageInFlightTable has admitted requests that had not ended at the last flush of their process. */
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

/** UsageNodeTable has the processes that write usage. */
export interface UsageNodeTable {
  id: string;
  batch: number;
  updated_at: number;
  /**
   * When another process found that this process had ended. 0 if no process has, or if this process has written since
   * then.
   */
  buried_at: number;
}

/** AuditEntryTable is the audit log, with every change through the admin API. Rows are never changed. */
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
  /** Name of the actor at the time of the change, which remains readable after the actor is removed. */
  actor_label: string | null;
}

/** InstallationTable has facts about this installation, such as the ID of the demo account. */
export interface InstallationTable {
  name: string;
  value: string;
}

/** NodeStatementTable has the latest status report of each node. It is used only with PostgreSQL and without Redis. */
export interface NodeStatementTable {
  /** Node ID. */
  id: string;
  /** Time of the report, by the database's clock. */
  said_at: number;
  /** The status report as JSON. */
  statement: string;
}

/**
 * IdempotentRequestTable has the requests to the admin API with an `Idempotency-Key`. Without Redis, it also has such
 * requests to the gateway.
 */
export interface IdempotentRequestTable {
  /** ID of the API key. For a request to the admin API, the actor as in the audit log. */
  api_key_id: string;
  /** SHA-256 of the `Idempotency-Key`, base64url. */
  key_hash: string;
  /** SHA-256 of method, path, query and content type, base64url. On the admin API also of the body. */
  fingerprint: string;
  /** Process that has claimed the request. */
  owner: string;
  /** End of the owner's lease. 0 if the request is done, or its outcome is unknown. */
  leased_until: number;
  /** Status of the response. Null until there is a response. */
  status: number | null;
  /** SHA-256 of the request body, base64url. Empty if the body was not read completely. */
  body_hash: string | null;
  /**
   * Error code of the response, or empty if the response has no error code. `code`, `fields` and `body` are null if the
   * response is not stored.
   */
  code: string | null;
  /** Field lines of the response, each with its CRLF. */
  fields: string | null;
  /** Response body, base64. */
  body: string | null;
  expires_at: number;
}

/**
 * RequestLogTable is the request log. A row describes one ended request, and may represent several similar requests
 * that were not logged. PostgreSQL has one partition per day.
 */
export interface RequestLogTable {
  account_id: string;
  /** Day in UTC, for example 20261122. */
  day: number;
  at: number;
  /** Process that wrote the row. `seq` is the row's sequence number in that process. */
  node: string;
  seq: number;
  /** Request ID. Clients may choose it, so it is not unique. */
  request_id: string;
  api_key_id: string;
  /** Operation ID. `operation`, `route` and `code` are empty if unknown. */
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
  /** Protocol of the request: `rest` or `mcp`. */
  source: string;
  /** Name of the called MCP tool. Empty for other requests. */
  tool: string;
}

export interface Tables extends MemberTables, WebhookTables {
  /** `search` is the normalized name, for search and sorting. See `searchText`. */
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
