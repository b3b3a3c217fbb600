/** Parses option values that several commands share. The admin API checks everything else, such as upper bounds. */
import { InvalidArgumentError } from 'commander';

const OVERLAPS: Readonly<Record<string, number>> = { '0': 0, '1h': 3_600, '24h': 86_400, '7d': 604_800 };

/**
 * Parses a number of rows, such as `--limit 250`. Every `parse…` function throws `InvalidArgumentError` for an invalid
 * text.
 */
export function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 999999.');
  return Number(text);
}

/** Parses a day of the month, such as `--billing-day 15`. */
export function parseDay(text: string): number {
  if (!/^\d{1,2}$/.test(text)) throw new InvalidArgumentError('It must be a day from 1 to 31.');
  return Number(text);
}

/** Parses the limit of a key, such as `--month-limit 5000` or `--month-limit none`. */
export function parseKeyLimit(text: string): number | 'none' {
  return text === 'none' ? text : parseCount(text);
}

/** Parses a count, such as `--amount 1000`. */
export function parseCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of at most 15 digits.');
  return Number(text);
}

/** Parses a time such as `--overlap 24h`. Returns seconds. */
export function parseOverlap(text: string): number {
  const seconds = Object.hasOwn(OVERLAPS, text) ? OVERLAPS[text] : undefined;
  if (seconds === undefined) throw new InvalidArgumentError(`It must be one of ${Object.keys(OVERLAPS).join(', ')}.`);
  return seconds;
}

/**
 * Collects the entries of a repeated option, such as `--metadata crm=D-20481 --metadata tier=gold`. Throws
 * `InvalidArgumentError` for a text without a name and `=`.
 * @param before entries of the option's earlier values
 */
export function collectMetadata(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be name=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/**
 * Collects the values of a repeated or comma-separated option, such as `--scope a:read --scope b:read,c:read`.
 * @param before the option's earlier values
 */
export function collectList(text: string, before: readonly string[] = []): string[] {
  return [
    ...before,
    ...text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  ];
}
