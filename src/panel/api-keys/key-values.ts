/** Values of the key form, and the requests built from them. */
import { numberOf } from '../layout/number.js';
import { LIMIT_PERIODS, type LimitPeriod } from '../words/limits.js';
import { dayBefore, dayIn, dayOf, endOf } from '../words/zone.js';
import type { Key, KeyChange, NewKey, OAuthGrant } from './keys.js';

/** Choices of a key's lifetime, in days. */
export const EXPIRIES = ['30', '90', '365'] as const;
export type Expiry = (typeof EXPIRIES)[number] | 'never' | 'date' | 'kept';

function limitTexts(textOf: (period: LimitPeriod) => string): Record<LimitPeriod, string> {
  return Object.fromEntries(LIMIT_PERIODS.map((period) => [period, textOf(period)])) as Record<LimitPeriod, string>;
}

/** Values of the form. */
export interface KeyValues {
  readonly name: string;
  readonly environment: 'live' | 'test';
  readonly scopes: readonly string[];
  readonly expiry: Expiry;
  /** Custom expiration date: `2027-01-31`. */
  readonly day: string;
  readonly addresses: readonly string[];
  /** Limits. Empty: the limit of the plan. */
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

/** Returns the values that the address prefills: `?name=…&scopes=a,b&expires_in=90d&environment=test&allowed_ips=…`. */
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

/** Returns the current values of a key. */
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

/** Returns the last day on which a key with these values works; empty if the values name none. */
export function lastDay({ expiry, day }: Pick<KeyValues, 'expiry' | 'day'>, timeZone: string): string {
  if (expiry === 'never' || expiry === 'kept') return '';
  return expiry === 'date' ? day : dayIn(Number(expiry), timeZone);
}

/** Sorts after every date that a user can choose. */
const ANY_DAY = '9999-12-31';

/** Returns the latest date that lies fully within the grant. @param grant grant of an OAuth client's key, or null. */
export function latestDay(grant: OAuthGrant | null, timeZone: string): string {
  const latest = grant?.latest_expires_at ?? null;
  if (latest === null) return ANY_DAY;
  const day = dayOf(new Date(latest), timeZone);
  return Date.parse(endOf(day, timeZone) ?? '') <= Date.parse(latest) ? day : dayBefore(day);
}

/** Returns the expiration for the API; undefined: unchanged. */
function expiresAt(values: KeyValues, timeZone: string): string | null | undefined {
  if (values.expiry === 'never') return null;
  // A key works until the end of its last day in the account's time zone. Relative choices end then too, so that a
  // retry after a lost response sends the same time.
  return endOf(lastDay(values, timeZone), timeZone);
}

function limits(values: KeyValues, locale: string): NonNullable<NewKey['limits']> | null {
  const set = LIMIT_PERIODS.flatMap((period) => {
    const limit = numberOf(values.limits[period], locale);
    return limit === undefined ? [] : [[period, limit] as const];
  });
  return set.length === 0 ? null : Object.fromEntries(set);
}

/** Returns the request body for a new key. */
export const newKey = (values: KeyValues, timeZone: string, locale: string): NewKey => ({
  name: values.name.trim(),
  environment: values.environment,
  scopes: [...values.scopes],
  expires_at: expiresAt(values, timeZone) ?? null,
  allowed_ips: [...values.addresses],
  limits: limits(values, locale),
});

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Returns the request body for an edit, with only the changed fields. */
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
