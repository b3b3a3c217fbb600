/** Replies as Redis writes them (RESP3). */
import { bulkText } from '../script-command.js';

export const OK = '+OK\r\n';
export const PONG = '+PONG\r\n';
export const NOTHING = '_\r\n';

/** A whole number. */
export function numberReply(number: number): string {
  return `:${number}\r\n`;
}

/** Whole numbers. */
export function numbersReply(numbers: readonly number[]): string {
  let text = `*${numbers.length}\r\n`;
  for (const number of numbers) text += `:${number}\r\n`;
  return text;
}

/** Texts. */
export function textsReply(texts: readonly string[]): string {
  return `*${texts.length}\r\n${texts.map(bulkText).join('')}`;
}

/** Names and their values. */
export function mapReply(entries: Readonly<Record<string, string | number>>): string {
  const parts = Object.entries(entries).map(([name, value]) => {
    return bulkText(name) + (typeof value === 'number' ? numberReply(value) : bulkText(value));
  });
  return `%${parts.length}\r\n${parts.join('')}`;
}

/** Something that was not asked for: of a channel. */
export function pushReply(kind: string, channel: string, last: string | number): string {
  const end = typeof last === 'number' ? numberReply(last) : bulkText(last);
  return `>3\r\n${bulkText(kind)}${bulkText(channel)}${end}`;
}

/** What went wrong: a word in capitals first. */
export function errorReply(text: string): string {
  return `-${text.replaceAll(/[\r\n]+/g, ' ')}\r\n`;
}
