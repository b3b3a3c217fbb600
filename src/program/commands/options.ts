/** Parsers of option values that several commands share. The API checks everything else. */
import { InvalidArgumentError } from 'commander';

const OVERLAPS: Readonly<Record<string, number>> = { '0': 0, '1h': 3_600, '24h': 86_400, '7d': 604_800 };

/** `--limit 250` */
export function parseLimit(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 999999.');
  return Number(text);
}

/** `--billing-day 15`; the bounds are the API's. */
export function parseDay(text: string): number {
  if (!/^\d{1,2}$/.test(text)) throw new InvalidArgumentError('It must be a day from 1 to 31.');
  return Number(text);
}

/** `--month-limit 5000`, `--month-limit none`; the bounds are the API's. */
export function parseKeyLimit(text: string): number | 'none' {
  return text === 'none' ? text : parseCount(text);
}

/** `--amount 1000`; the bounds are the API's. */
export function parseCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of at most 15 digits.');
  return Number(text);
}

/** `--overlap 24h` → seconds. */
export function parseOverlap(text: string): number {
  const seconds = Object.hasOwn(OVERLAPS, text) ? OVERLAPS[text] : undefined;
  if (seconds === undefined) throw new InvalidArgumentError(`It must be one of ${Object.keys(OVERLAPS).join(', ')}.`);
  return seconds;
}

/** `--metadata crm=D-20481 --metadata tier=gold`; the bounds are the API's. */
export function collectMetadata(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be name=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** `--scope a:read --scope b:read`, `--scope a:read,b:read`: both. */
export function collectList(text: string, before: readonly string[] = []): string[] {
  return [
    ...before,
    ...text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  ];
}
