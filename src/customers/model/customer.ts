/** Defines the customer model, its IDs and its JSON form. */
import { randomInt } from 'node:crypto';

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
  /** Phone number in E.164 form. */
  readonly phone: string;
}

/** Fields that callers can set. Times are milliseconds since the Unix epoch. */
export interface CustomerFields {
  readonly first_name: string;
  readonly last_name: string;
  /** Email address in lower case, unique per account. */
  readonly email: string;
  /** Phone number in E.164 form. */
  readonly phone: string | null;
  /** Language tag (BCP 47) in canonical case, such as de-AT. */
  readonly language: string;
  /** Date as `YYYY-MM-DD`. */
  readonly birth_date: string | null;
  readonly activities: readonly Activity[];
  readonly status: CustomerStatus;
  readonly emergency_contact: EmergencyContact | null;
  readonly waiver_signed_at: number | null;
  readonly notes: string | null;
}

/** A customer as stored in the database. */
export interface Customer extends CustomerFields {
  /** `cus_` and 20 base62 characters. */
  readonly id: string;
  readonly created_at: number;
  readonly updated_at: number;
}

/** JSON form of a customer, with the same fields in a fixed order. Times are RFC 3339 texts in UTC. */
export type CustomerJson = Omit<Customer, 'waiver_signed_at' | 'created_at' | 'updated_at'> & {
  readonly waiver_signed_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 20;
export const ID_PATTERN = /^cus_[0-9A-Za-z]{20}$/;

/**
 * Creates a customer ID.
 * @param pick returns a random integer in [0, `below`). Seeding passes a deterministic function.
 */
export function newCustomerId(pick: (below: number) => number = randomInt): string {
  return newId('cus_', pick);
}

/** Creates a random event ID. Unlike a counter, random IDs stay unique after the database was recreated. */
export function newEventId(): string {
  return newId('cus_evt_', randomInt);
}

function newId(prefix: string, pick: (below: number) => number): string {
  let id = prefix;
  for (let i = 0; i < ID_LENGTH; i++) id += BASE62[pick(BASE62.length)];
  return id;
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
