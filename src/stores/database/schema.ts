/**
 * The tables, the same on SQLite and PostgreSQL: text, integer and bigint columns only; JSON is text, times are
 * milliseconds since the Unix epoch. Every row type here matches `migrations.ts`.
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
  /** IANA name. */
  time_zone: string;
  /** 1–31. */
  billing_day: number;
  status: 'active' | 'suspended';
  /** Label of the month that `grant_amount` is granted until the end of; 0: none. */
  grant_period: number;
  /** Requests on top of the account's month limit; the sum of the grants of that month. */
  grant_amount: number;
  created_at: number;
  updated_at: number;
  /** Grows with every change that a person makes. */
  version: number;
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
  /** JSON array of addresses and CIDR blocks; empty: any address. */
  allowed_ips: string;
  /** `tg_live_…a1b2`: prefix and last four characters, for people to recognise it by. */
  hint: string;
  /** JSON: limits in the place of the plan's (`KeyLimits`); null: the plan's. */
  limits: string | null;
  /** As in `account`, on top of the key's own month limit. */
  grant_period: number;
  grant_amount: number;
  last_used_at: number | null;
  created_at: number;
  updated_at: number;
  revoked_at: number | null;
  /** As in `account`. */
  version: number;
  /** The name as lists are searched and sorted by it; see `searchText`. */
  search: string;
  /** The OAuth client whose access tokens are its secrets; null: it has secrets of its own, as nearly all. */
  oauth_client_id: string | null;
  oauth_client_name: string | null;
  /** Who let the client in; null: the operators' token. */
  oauth_member_id: string | null;
  /** When the secret before the last rotation stops working, which may be over; null: there is none. */
  previous_secret_expires_at: number | null;
}

/** One live secret of a key, during a rotation two. Only the hash is stored. */
export interface ApiKeySecretTable {
  /** SHA-256 of the whole secret, lower-case hex. */
  hash: string;
  api_key_id: string;
  created_at: number;
  /** End of a rotation's overlap; null for the current secret. */
  expires_at: number | null;
  last_used_at: number | null;
  last_used_ip: string | null;
}

/** Month counters as last flushed: what a restart or an emptied Redis starts again from. */
export interface QuotaCounterTable {
  account_id: string;
  /** Empty string: the account's own counter. */
  api_key_id: string;
  /** The month's first day in the account's zone as a number, 20261101. */
  period: number;
  used: number;
  /**
   * Time of the counters' store at which an operator set the count, ms; what was seen before counts no more. 0: never.
   */
  set_at: Generated<number>;
  /** When the count was seen to be so, by the clock of the counters, ms; and the microseconds beyond them. */
  observed_at: Generated<number>;
  observed_us: Generated<number>;
  updated_at: number;
}

/** What operators changed about usage and limits of a month; append-only. */
export interface QuotaAdjustmentTable {
  /** `adj_…` */
  id: string;
  account_id: string;
  /** Empty string: the account's own window. */
  api_key_id: string;
  /** Label of the month that it was made for. */
  period: number;
  /** The end of that month. */
  period_ends_at: number;
  type: 'grant' | 'set' | 'reset';
  /** Null for `reset`. */
  amount: number | null;
  reason: string;
  /** Who made it, as in the audit log. */
  actor: string;
  created_at: number;
}

/** What the requests of one key to one operation came to on one day. The costs of a month add up to its counter. */
export interface UsageDailyTable {
  account_id: string;
  /** In the account's zone, 20261120. */
  day: number;
  /** Empty where no key is known: a change to the account's own counter. */
  api_key_id: string;
  /** Id of the operation; empty where none is known. */
  operation: string;
  /** The month's first day, as in `quota_counter`. */
  period: number;
  outcome: string;
  requests: number;
  /** What they cost, as it stands in the counters. */
  cost: number;
  updated_at: number;
}

/** Requests that were admitted and have not ended when their process last wrote. */
export interface UsageInFlightTable {
  /** The process that serves them. */
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
  /** Number of the last batch that it wrote. */
  batch: number;
  updated_at: number;
  /** When it was found to be gone; 0: it has written since. */
  buried_at: number;
}

/** Append-only record of every change made through the admin API. */
export interface AuditEntryTable {
  /** `aud_…`, ordered by time. */
  id: string;
  /** Null where the change belongs to no account. */
  account_id: string | null;
  /** `operator`, `system`, or the id of a member or of an account's token. */
  actor: string;
  /** `api_key.created`, `account.updated`, … */
  action: string;
  target_type: string;
  target_id: string;
  /** JSON, secrets never in it. */
  before: string | null;
  after: string | null;
  ip: string;
  request_id: string;
  created_at: number;
  /** The version that the change made of its target; null where targets of this type have none. */
  target_version: number | null;
  /** Whoever `actor` is by name, which can still be read when they have gone. */
  actor_label: string | null;
}

/** Facts about this installation: who seeded it, what it was started with. */
export interface InstallationTable {
  name: string;
  value: string;
}

/** What each gateway says of itself, where there is no Redis for that. */
export interface NodeStatementTable {
  /** Of the process that says it. */
  id: string;
  said_at: number;
  /** JSON. */
  statement: string;
}

/** What is kept of a request with an `Idempotency-Key`, where there is no Redis for that. */
export interface IdempotentRequestTable {
  /** API key, or an actor of the audit log for a request to the admin API. */
  api_key_id: string;
  /** SHA-256 of the `Idempotency-Key`, base64url. */
  key_hash: string;
  /** SHA-256 of method, path, query and content type, base64url; on the admin API also of the body. */
  fingerprint: string;
  /** Who has claimed it. */
  owner: string;
  /** Until then nobody else may think that its process is dead; 0: nobody knows what came of it, or it is done. */
  leased_until: number;
  /** Of the response; null until there is one. */
  status: number | null;
  /** SHA-256 of the body of the request, base64url; empty where it was not read whole. */
  body_hash: string | null;
  /** Of the problem that the response is; empty for another one, null where the response is not kept, as below. */
  code: string | null;
  /** Its field lines, each with its CRLF. */
  fields: string | null;
  /** Its body, base64. */
  body: string | null;
  expires_at: number;
}

/** A request that has ended, or several that it stands for. On PostgreSQL there is a partition for each day. */
export interface RequestLogTable {
  account_id: string;
  /** In UTC, 20261122. */
  day: number;
  /** When it ended. */
  at: number;
  /** The process that wrote it, and its number there. */
  node: string;
  seq: number;
  /** The client may have chosen it: several rows can have the same. */
  request_id: string;
  api_key_id: string;
  /** Empty where there is none, as `route` and `code`. */
  operation: string;
  method: string;
  route: string;
  status: number;
  code: string;
  duration_us: number;
  bytes_in: number;
  bytes_out: number;
  ip: string;
  /** How many requests it stands for. */
  weight: number;
  /** By what it came in: `rest`, `mcp`. */
  source: string;
  /** The tool that was called; empty where there is none. */
  tool: string;
}

export interface Tables extends MemberTables, WebhookTables {
  /** `search`: the name as lists are searched and sorted by it; see `searchText`. */
  account: AccountTable & { search: Generated<string> };
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
