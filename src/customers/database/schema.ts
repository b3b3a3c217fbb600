/** Tables. Columns are text, integer or bigint only. JSON is stored as text, times as milliseconds. */
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
  /** JSON array. */
  activities: string;
  status: CustomerStatus;
  /** JSON object. */
  emergency_contact: string | null;
  waiver_signed_at: number | null;
  notes: string | null;
  /** Folded names and email, see `search-text.ts`. */
  search_text: string;
  created_at: number;
  updated_at: number;
}

/** Accounts that were seeded with customers, so that it happens once. */
export interface SeedTable {
  account_id: string;
  customers: number;
  seeded_at: number;
}

/** Settings of this database, such as the cursor secret. */
export interface SettingTable {
  name: string;
  value: string;
}

/** Events that the gateway has not accepted yet; see `events/outbox.ts`. */
export interface OutboxTable {
  /** Order of the events. */
  id: Generated<number>;
  event_id: string;
  type: string;
  account_id: string;
  resource: string;
  /** JSON object. */
  data: string;
  occurred_at: number;
  /** When the gateway permanently rejected it. */
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
