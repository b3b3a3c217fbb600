/** What a customer is, on the wire and as a row, and the way between the two. */
import { randomInt } from 'node:crypto';
import type { CustomerTable } from './database/schema.js';
import { searchText } from './search-text.js';

export const ACTIVITIES = [
  'rafting',
  'climbing',
  'bike_tour',
  'canyoning',
  'via_ferrata',
  'kayaking',
  'hiking',
] as const;
export const STATUSES = ['lead', 'active', 'inactive'] as const;

export type Activity = (typeof ACTIVITIES)[number];
export type CustomerStatus = (typeof STATUSES)[number];

export interface EmergencyContact {
  readonly name: string;
  /** E.164. */
  readonly phone: string;
}

/** What a caller may set; instants are milliseconds. */
export interface CustomerFields {
  readonly first_name: string;
  readonly last_name: string;
  /** Lower case; one customer per address and account. */
  readonly email: string;
  /** E.164. */
  readonly phone: string | null;
  /** BCP 47, canonical case. */
  readonly language: string;
  /** `YYYY-MM-DD`. */
  readonly birth_date: string | null;
  readonly activities: readonly Activity[];
  readonly status: CustomerStatus;
  readonly emergency_contact: EmergencyContact | null;
  readonly waiver_signed_at: number | null;
  readonly notes: string | null;
}

/** A customer as kept: what the caller set, and what the backend adds. */
export interface Customer extends CustomerFields {
  /** `cus_` and 20 base62 characters. */
  readonly id: string;
  readonly created_at: number;
  readonly updated_at: number;
}

/** JSON of a customer: the same fields in a fixed order, instants as RFC 3339 in UTC. */
export type CustomerJson = Omit<Customer, 'waiver_signed_at' | 'created_at' | 'updated_at'> & {
  readonly waiver_signed_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 20;
export const ID_PATTERN = /^cus_[0-9A-Za-z]{20}$/;

/** A new id. `pick` gives a number below its argument; seeds pass their own to get the same ids every time. */
export function newCustomerId(pick: (below: number) => number = randomInt): string {
  let id = 'cus_';
  for (let i = 0; i < ID_LENGTH; i++) id += BASE62[pick(BASE62.length)];
  return id;
}

export function toRow(accountId: string, customer: Customer): CustomerTable {
  return {
    id: customer.id,
    account_id: accountId,
    first_name: customer.first_name,
    last_name: customer.last_name,
    email: customer.email,
    phone: customer.phone,
    language: customer.language,
    birth_date: customer.birth_date,
    activities: JSON.stringify(customer.activities),
    status: customer.status,
    emergency_contact: customer.emergency_contact === null ? null : JSON.stringify(customer.emergency_contact),
    waiver_signed_at: customer.waiver_signed_at,
    notes: customer.notes,
    search_text: searchText(customer),
    created_at: customer.created_at,
    updated_at: customer.updated_at,
  };
}

export function fromRow(row: Omit<CustomerTable, 'account_id' | 'search_text'>): Customer {
  return {
    ...row,
    activities: JSON.parse(row.activities) as Activity[],
    emergency_contact: row.emergency_contact === null ? null : (JSON.parse(row.emergency_contact) as EmergencyContact),
  };
}

export function toJson(customer: Customer): CustomerJson {
  const { id, first_name, last_name, email, phone, language, birth_date, activities, status } = customer;
  const { emergency_contact, waiver_signed_at, notes } = customer;
  return {
    id,
    first_name,
    last_name,
    email,
    phone,
    language,
    birth_date,
    activities,
    status,
    emergency_contact,
    waiver_signed_at: waiver_signed_at === null ? null : toTime(waiver_signed_at),
    notes,
    created_at: toTime(customer.created_at),
    updated_at: toTime(customer.updated_at),
  };
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
