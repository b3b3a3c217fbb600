/** Times for people and programs alike: RFC 3339 with the offset that the zone has at that instant. */

const MINUTE_MS = 60_000;
/** Characters of `2026-12-01T00:00:00`. */
const SECONDS_END = 19;
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Building one costs a thousand times as much as using one; there are some 600 zones, so the map is bounded. */
function offsetFormatter(timeZone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(timeZone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
    formatters.set(timeZone, formatter);
  }
  return formatter;
}

/** Offset of the zone from UTC at that instant, in whole minutes; east is positive. */
function offsetMinutes(ms: number, timeZone: string): number {
  const text = offsetFormatter(timeZone).format(ms);
  const [, sign, hours, minutes] = /GMT([+-])(\d{2}):(\d{2})/.exec(text) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0));
}

/**
 * `2026-12-01T00:00:00+01:00` for an instant in milliseconds since the epoch and an IANA zone; a part of a second is
 * left out. Throws RangeError for an unknown zone or an instant that is no date.
 */
export function formatWithOffset(ms: number, timeZone: string): string {
  const offset = offsetMinutes(ms, timeZone);
  const local = new Date(ms + offset * MINUTE_MS).toISOString().slice(0, -'.000Z'.length);
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
  const pad = (value: number) => String(value).padStart(2, '0');
  return `${local}${offset < 0 ? '-' : '+'}${pad(hours)}:${pad(minutes)}`;
}

/** The same with milliseconds: `2026-12-01T00:00:00.125+01:00`. */
export function formatMillisWithOffset(ms: number, timeZone: string): string {
  const text = formatWithOffset(ms, timeZone);
  const millis = String(((Math.floor(ms) % 1_000) + 1_000) % 1_000).padStart(3, '0');
  return `${text.slice(0, SECONDS_END)}.${millis}${text.slice(SECONDS_END)}`;
}

let utcSecond = NaN;
let utcSecondText = '';

/**
 * What `Date.toISOString` says of an instant in milliseconds since the epoch: `2026-12-01T00:00:00.000Z`. Within
 * one second most of it stays, and is kept: for a log line a request that is a tenth of the cost. Throws
 * RangeError for an instant that is no date.
 */
export function formatUtc(ms: number): string {
  const second = Math.floor(ms / 1_000);
  if (second !== utcSecond) {
    utcSecondText = new Date(second * 1_000).toISOString().slice(0, -'000Z'.length);
    utcSecond = second;
  }
  const rest = Math.floor(ms) - second * 1_000;
  return `${utcSecondText}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z`;
}
