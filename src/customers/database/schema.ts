/**
 * Defines the types of the database tables. Columns are text, integer or bigint only. JSON is stored as text. Times are
 * milliseconds since the Unix epoch.
 */
import type { Generated } from 'kysely';
import type { CustomerStatus } from '../model/customer.js';

export interface CustomerTable {
  id: string;
  account_id: string;
  first_name: string;
  last_name: string;
  email: string;
  phone: string | null;
  language: string;
  birth_date: string | null;
  /** JSON array of activities. */
  activities: string;
  status: CustomerStatus;
  /** JSON object of the contact, or null. */
  emergency_contact: string | null;
  waiver_signed_at: number | null;
  notes: string | null;
  /** Names and email address in lower case and without accents. See `search-text.ts`. */
  search_text: string;
  created_at: number;
  updated_at: number;
}

/** Accounts that were seeded with generated customers. Each account is seeded only once. */
export interface SeedTable {
  account_id: string;
  customers: number;
  seeded_at: number;
}

/** Settings that this database stores, such as the cursor secret. */
export interface SettingTable {
  name: string;
  value: string;
}

/** Events that the gateway has not accepted. See `events/outbox.ts`. */
export interface OutboxTable {
  /** Increasing number, which defines the order of the events. */
  id: Generated<number>;
  event_id: string;
  type: string;
  account_id: string;
  resource: string;
  /** JSON object with the customer. */
  data: string;
  occurred_at: number;
  /** Time at which the gateway permanently rejected the event. Null while the event waits to be sent. */
  refused_at: number | null;
}

export interface MigrationTable {
  name: string;
  applied_at: number;
}

export interface Tables {
  customer: CustomerTable;
  seed: SeedTable;
  setting: SettingTable;
  outbox: OutboxTable;
  migration: MigrationTable;
}
