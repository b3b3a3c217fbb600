/** What is typed into the form of a key, and what the API is sent of it. */
import { numberOf } from '../layout/number.js';
import { dayBefore, dayIn, dayOf, endOf } from '../words/zone.js';
import type { Key, KeyChange, NewKey, OAuthGrant } from './keys.js';

/** Choices of how long a key lives, in days. */
export const EXPIRIES = ['30', '90', '365'] as const;
export type Expiry = (typeof EXPIRIES)[number] | 'never' | 'date' | 'kept';

/** The periods of a key's limits, in the order of the form. */
export const LIMIT_PERIODS = ['minute', 'day', 'month'] as const;
export type LimitPeriod = (typeof LIMIT_PERIODS)[number];

function limitTexts(textOf: (period: LimitPeriod) => string): Record<LimitPeriod, string> {
  return Object.fromEntries(LIMIT_PERIODS.map((period) => [period, textOf(period)])) as Record<LimitPeriod, string>;
}

/** The fields of the form. */
export interface KeyValues {
  readonly name: string;
  readonly environment: 'live' | 'test';
  readonly scopes: readonly string[];
  readonly expiry: Expiry;
  /** `2027-01-31`, where a day was chosen. */
  readonly day: string;
  readonly addresses: readonly string[];
  /** Limits; empty: the plan's. */
  readonly limits: Readonly<Record<LimitPeriod, string>>;
}

export const EMPTY: KeyValues = {
  name: '',
  environment: 'live',
  scopes: [],
  expiry: '90',
  day: '',
  addresses: [],
  limits: limitTexts(() => ''),
};

const listed = (text: string | null): string[] => (text ?? '').split(/[\s,]+/).filter((each) => each !== '');

/** What an address fills in: `?name=…&scopes=a,b&expires_in=90d&environment=test&allowed_ips=…`. */
export function valuesOf(parameters: URLSearchParams, timeZone: string): KeyValues {
  const expiresIn = parameters.get('expires_in') ?? '';
  const days = /^(\d{1,4})d?$/.exec(expiresIn)?.[1];
  const isUsual = (EXPIRIES as readonly string[]).includes(days ?? '');
  return {
    ...EMPTY,
    name: (parameters.get('name') ?? '').slice(0, 200),
    environment: parameters.get('environment') === 'test' ? 'test' : 'live',
    scopes: listed(parameters.get('scopes')),
    addresses: listed(parameters.get('allowed_ips')),
    ...(/^(?:never|none)$/.test(expiresIn) ? { expiry: 'never' as const } : {}),
    ...(days === undefined
      ? {}
      : isUsual
        ? { expiry: days as Expiry }
        : { expiry: 'date' as const, day: dayIn(Number(days), timeZone) }),
  };
}

/** What a key has now. */
export function valuesOfKey(key: Key): KeyValues {
  return {
    name: key.name,
    environment: key.environment,
    scopes: key.scopes,
    expiry: key.expires_at === null ? 'never' : 'kept',
    day: '',
    addresses: key.allowed_ips,
    limits: limitTexts((period) => String(key.limits?.[period] ?? '')),
  };
}

/** The last day of a key with these values, where they name one. */
export function lastDay({ expiry, day }: Pick<KeyValues, 'expiry' | 'day'>, timeZone: string): string {
  if (expiry === 'never' || expiry === 'kept') return '';
  return expiry === 'date' ? day : dayIn(Number(expiry), timeZone);
}

/** Behind all that somebody chooses. */
const ANY_DAY = '9999-12-31';

/** The last day that a key can be given, of which it has all. @param grant of an OAuth client's key. */
export function latestDay(grant: OAuthGrant | null, timeZone: string): string {
  const latest = grant?.latest_expires_at ?? null;
  if (latest === null) return ANY_DAY;
  const day = dayOf(new Date(latest), timeZone);
  return Date.parse(endOf(day, timeZone) ?? '') <= Date.parse(latest) ? day : dayBefore(day);
}

/** When a key with these values ends; undefined leaves it as it is. */
function expiresAt(values: KeyValues, timeZone: string): string | null | undefined {
  if (values.expiry === 'never') return null;
  // With the last day of the account, as which it is shown from then on. Days from now end so, too: what is sent again
  // after a lost response has to say the same as before.
  return endOf(lastDay(values, timeZone), timeZone);
}

function limits(values: KeyValues, locale: string): NonNullable<NewKey['limits']> | null {
  const set = LIMIT_PERIODS.flatMap((period) => {
    const limit = numberOf(values.limits[period], locale);
    return limit === undefined ? [] : [[period, limit] as const];
  });
  return set.length === 0 ? null : Object.fromEntries(set);
}

/** The body that makes a key. */
export const newKey = (values: KeyValues, timeZone: string, locale: string): NewKey => ({
  name: values.name.trim(),
  environment: values.environment,
  scopes: [...values.scopes],
  expires_at: expiresAt(values, timeZone) ?? null,
  allowed_ips: [...values.addresses],
  limits: limits(values, locale),
});

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The body that changes a key: only what is different from what it was. */
export function changeOf(before: KeyValues, after: KeyValues, timeZone: string, locale: string): KeyChange {
  const expires = expiresAt(after, timeZone);
  return {
    ...(before.name === after.name.trim() ? {} : { name: after.name.trim() }),
    ...(isSame(before.scopes, after.scopes) ? {} : { scopes: [...after.scopes] }),
    ...(isSame(before.addresses, after.addresses) ? {} : { allowed_ips: [...after.addresses] }),
    ...(isSame(limits(before, locale), limits(after, locale)) ? {} : { limits: limits(after, locale) }),
    ...(before.expiry === after.expiry || expires === undefined ? {} : { expires_at: expires }),
  };
}
