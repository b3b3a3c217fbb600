/** Values of the form that creates or edits an API key, and the request bodies built from the values. */
import { numberOf } from '../layout/number.js';
import { LIMIT_PERIODS, type LimitPeriod } from '../words/limits.js';
import { dayBefore, dayIn, dayOf, endOf } from '../words/zone.js';
import type { Key, KeyChange, NewKey, OAuthGrant } from './keys.js';

/** Lifetimes that the form offers, in days. */
export const EXPIRIES = ['30', '90', '365'] as const;
/**
 * Choice in the expiration field: a lifetime in days, `never`, a custom `date`, or `kept` for the current expiration.
 */
export type Expiry = (typeof EXPIRIES)[number] | 'never' | 'date' | 'kept';

function limitTexts(textOf: (period: LimitPeriod) => string): Record<LimitPeriod, string> {
  return Object.fromEntries(LIMIT_PERIODS.map((period) => [period, textOf(period)])) as Record<LimitPeriod, string>;
}

/** Values of the form that creates or edits an API key. */
export interface KeyValues {
  readonly name: string;
  readonly environment: 'live' | 'test';
  readonly scopes: readonly string[];
  readonly expiry: Expiry;
  /** Custom expiration date, such as `2027-01-31`. The form uses this date only if `expiry` is `date`. */
  readonly day: string;
  readonly addresses: readonly string[];
  /** Limits of the key as typed. An empty text means that the plan sets the limit. */
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

const splitList = (text: string | null): string[] => (text ?? '').split(/[\s,]+/).filter((each) => each !== '');

/**
 * Returns form values from the query parameters of a URL, such as
 * `?name=…&scopes=a,b&expires_in=90d&environment=test&allowed_ips=…`. A missing or invalid parameter keeps its default.
 */
export function valuesOf(parameters: URLSearchParams, timeZone: string): KeyValues {
  const expiresIn = parameters.get('expires_in') ?? '';
  const days = /^(\d{1,4})d?$/.exec(expiresIn)?.[1];
  const isPreset = (EXPIRIES as readonly string[]).includes(days ?? '');
  return {
    ...EMPTY,
    name: (parameters.get('name') ?? '').slice(0, 200),
    environment: parameters.get('environment') === 'test' ? 'test' : 'live',
    scopes: splitList(parameters.get('scopes')),
    addresses: splitList(parameters.get('allowed_ips')),
    ...(/^(?:never|none)$/.test(expiresIn) ? { expiry: 'never' as const } : {}),
    ...(days === undefined
      ? {}
      : isPreset
        ? { expiry: days as Expiry }
        : { expiry: 'date' as const, day: dayIn(Number(days), timeZone) }),
  };
}

/** Returns the form values of an existing key. */
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

/**
 * Returns the last day of validity, such as `2027-01-31`. Empty if the key never expires, if it keeps its expiration,
 * or if the custom date is missing.
 */
export function lastDay({ expiry, day }: Pick<KeyValues, 'expiry' | 'day'>, timeZone: string): string {
  if (expiry === 'never' || expiry === 'kept') return '';
  return expiry === 'date' ? day : dayIn(Number(expiry), timeZone);
}

/** Date that means no upper bound. The text sorts after every date that a user can choose. */
const ANY_DAY = '9999-12-31';

/**
 * Returns the latest expiration date that the grant allows. A key works until the end of that day, so the whole day
 * must be within the grant.
 * @param grant grant of an OAuth client's key. Null: no bound.
 */
export function latestDay(grant: OAuthGrant | null, timeZone: string): string {
  const latest = grant?.latest_expires_at ?? null;
  if (latest === null) return ANY_DAY;
  const day = dayOf(new Date(latest), timeZone);
  return Date.parse(endOf(day, timeZone) ?? '') <= Date.parse(latest) ? day : dayBefore(day);
}

/**
 * Returns the expiration for the API (ISO 8601). Null if the key never expires. Undefined if the expiration stays
 * unchanged or the date is invalid.
 */
function expiresAt(values: KeyValues, timeZone: string): string | null | undefined {
  if (values.expiry === 'never') return null;
  // A key works until the end of its last day in the account's time zone, also for choices such as 30 days. A retry on
  // the same day therefore sends the same expiration.
  return endOf(lastDay(values, timeZone), timeZone);
}

/**
 * Returns the limits for the API. Periods without an entered limit are missing. Null if no limit was entered, so that
 * the plan sets all limits.
 */
function limitsOf(values: KeyValues, locale: string): NonNullable<NewKey['limits']> | null {
  const entered = LIMIT_PERIODS.flatMap((period) => {
    const limit = numberOf(values.limits[period], locale);
    return limit === undefined ? [] : [[period, limit] as const];
  });
  return entered.length === 0 ? null : Object.fromEntries(entered);
}

/** Returns the request body for a new key. */
export const newKey = (values: KeyValues, timeZone: string, locale: string): NewKey => ({
  name: values.name.trim(),
  environment: values.environment,
  scopes: [...values.scopes],
  expires_at: expiresAt(values, timeZone) ?? null,
  allowed_ips: [...values.addresses],
  limits: limitsOf(values, locale),
});

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Returns the request body for an edit. The body contains only the changed fields. */
export function changeOf(before: KeyValues, after: KeyValues, timeZone: string, locale: string): KeyChange {
  const expires = expiresAt(after, timeZone);
  return {
    ...(before.name === after.name.trim() ? {} : { name: after.name.trim() }),
    ...(isSame(before.scopes, after.scopes) ? {} : { scopes: [...after.scopes] }),
    ...(isSame(before.addresses, after.addresses) ? {} : { allowed_ips: [...after.addresses] }),
    ...(isSame(limitsOf(before, locale), limitsOf(after, locale)) ? {} : { limits: limitsOf(after, locale) }),
    ...(before.expiry === after.expiry || expires === undefined ? {} : { expires_at: expires }),
  };
}
