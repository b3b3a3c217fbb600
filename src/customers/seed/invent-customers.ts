/**
 * Generates the customers of a fictional rafting and climbing business in the Alps. The same account, number and time
 * always give the same customers. All times are before the given time.
 */
import type { Activity, Customer, CustomerFields, CustomerStatus } from '../model/customer.js';
import { newCustomerId } from '../model/customer.js';
import { foldCase } from '../model/search-text.js';
import type { Origin } from './names.js';
import { NOTES, ORIGINS } from './names.js';
import { Random } from './random.js';

const DAY_MS = 86_400_000;
const YEAR_MS = 365.25 * DAY_MS;
const YEARS = 5;
const DOMAINS = { 'example.com': 70, 'example.net': 20, 'example.org': 10 };
/** Relative frequencies of the activities. */
const ACTIVITY_WEIGHTS: Readonly<Record<Activity, number>> = {
  rafting: 46,
  canyoning: 18,
  climbing: 13,
  via_ferrata: 9,
  hiking: 6,
  kayaking: 5,
  bike_tour: 3,
};
/** Relative frequencies of the number of activities per customer. */
const ACTIVITY_COUNT_WEIGHTS = { 1: 62, 2: 25, 3: 9, 4: 3, 5: 1 };
/** Relative frequencies of the months in which customers are created, January to December. */
const MONTH_WEIGHTS = [4, 4, 5, 7, 12, 17, 20, 16, 8, 3, 2, 3];
const MAX_MONTH_WEIGHT = Math.max(...MONTH_WEIGHTS);
const UMLAUTS: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue' };

/**
 * Generates customers. Equal arguments give equal customers.
 * @param now end of the five years in which customers are created, in milliseconds since the Unix epoch
 */
export function inventCustomers(accountId: string, count: number, now: number): Customer[] {
  const random = new Random(accountId);
  const emails = new Set<string>();
  const originWeights = Object.fromEntries(Object.entries(ORIGINS).map(([language, { weight }]) => [language, weight]));
  const customers: Customer[] = [];
  while (customers.length < count) {
    const language = random.weighted(originWeights);
    const origin = ORIGINS[language];
    if (origin !== undefined) customers.push(inventCustomer(random, language, origin, emails, now));
  }
  return customers;
}

function inventCustomer(random: Random, language: string, origin: Origin, emails: Set<string>, now: number): Customer {
  const firstName = random.pick(origin.firstNames);
  const lastName = random.pick(origin.lastNames);
  const createdAt = inventCreation(random, now);
  const status = inventStatus(random, now - createdAt);
  const waiver = status !== 'lead' && random.chance(0.9) ? inventLater(random, createdAt, 60, now) : null;
  const lastTouched = inventLater(random, waiver ?? createdAt, 400, now);
  return {
    id: newCustomerId((below) => random.below(below)),
    first_name: firstName,
    last_name: lastName,
    email: inventEmail(random, firstName, lastName, emails),
    phone: random.chance(0.85) ? inventPhone(random, origin) : null,
    // Some customers from other countries prefer English.
    language: random.chance(0.04) ? 'en' : language,
    birth_date: status === 'lead' && random.chance(0.6) ? null : inventBirthDate(random, createdAt),
    activities: inventActivities(random),
    status,
    emergency_contact: waiver !== null && random.chance(0.7) ? inventContact(random, origin, lastName) : null,
    waiver_signed_at: waiver,
    notes: random.chance(0.18) ? random.pick(NOTES) : null,
    created_at: createdAt,
    updated_at: random.chance(0.4) ? (waiver ?? createdAt) : lastTouched,
  } satisfies CustomerFields & Customer;
}

/** Picks a creation time within the last five years. Recent years, summer and later hours are more likely. */
function inventCreation(random: Random, now: number): number {
  for (;;) {
    // The square root makes the number of new customers grow from year to year.
    const age = (1 - Math.sqrt(0.15 + 0.85 * random.fraction())) / (1 - Math.sqrt(0.15));
    const day = Math.floor((now - age * YEARS * YEAR_MS) / DAY_MS) * DAY_MS;
    const hour = 6 + 15 * Math.sqrt(random.fraction());
    const instant = Math.floor(day + (hour / 24) * DAY_MS);
    const monthWeight = MONTH_WEIGHTS[new Date(instant).getUTCMonth()] ?? 0;
    if (instant < now && random.chance(monthWeight / MAX_MONTH_WEIGHT)) return instant;
  }
}

function inventStatus(random: Random, ageMs: number): CustomerStatus {
  const years = ageMs / YEAR_MS;
  return random.weighted({
    lead: years < 1 ? 30 : 8,
    active: years < 2 ? 62 : 40,
    inactive: years < 1 ? 2 : 12 + 9 * years,
  });
}

/**
 * Picks a time at most `days` days after `from`. Earlier times are more likely. Returns `from` if the picked time is
 * not before `now`.
 */
function inventLater(random: Random, from: number, days: number, now: number): number {
  const later = Math.floor(from + random.fraction() ** 2 * days * DAY_MS);
  return later < now ? later : from;
}

function inventActivities(random: Random): Activity[] {
  const count = Number(random.weighted(ACTIVITY_COUNT_WEIGHTS));
  const activities = new Set<Activity>();
  while (activities.size < count) activities.add(random.weighted(ACTIVITY_WEIGHTS));
  return [...activities];
}

function inventBirthDate(random: Random, createdAt: number): string {
  // Most customers are 20 to 45 years old.
  const age = 12 + 58 * random.fraction() * (0.35 + 0.65 * random.fraction());
  return new Date(createdAt - age * YEAR_MS).toISOString().slice(0, 10);
}

function inventPhone(random: Random, origin: Origin): string {
  return origin.phone.replace(/#+/, (places) => random.digits(places.length));
}

function inventContact(random: Random, origin: Origin, lastName: string): Customer['emergency_contact'] {
  const surname = random.chance(0.7) ? lastName : random.pick(origin.lastNames);
  return { name: `${random.pick(origin.firstNames)} ${surname}`, phone: inventPhone(random, origin) };
}

/** Derives an email address from the name. Appends a number if another customer already has the address. */
function inventEmail(random: Random, firstName: string, lastName: string, emails: Set<string>): string {
  const [first, last] = [emailPart(firstName), emailPart(lastName)];
  const form = random.weighted({ dotted: 55, initial: 15, joined: 12, turned: 8, year: 10 });
  const local = {
    dotted: `${first}.${last}`,
    initial: `${first.slice(0, 1)}.${last}`,
    joined: `${first}${last}`,
    turned: `${last}.${first}`,
    year: `${first}.${last}${60 + random.below(40)}`,
  }[form];
  const domain = random.weighted(DOMAINS);
  let email = `${local}@${domain}`;
  for (let number = 2; emails.has(email); number++) email = `${local}${number}@${domain}`;
  emails.add(email);
  return email;
}

function emailPart(name: string): string {
  return foldCase(name.toLowerCase().replace(/[äöü]/g, (letter) => UMLAUTS[letter] ?? letter)).replace(/[^a-z-]/g, '');
}
